# docker build -t ackdoctor . && docker run --rm -v "$PWD:/src:ro" ackdoctor lint
ARG PYTHON=python:3.13.9-slim-bookworm

FROM ${PYTHON} AS build
COPY . /build
RUN python -m venv /opt/ackdoctor \
    && /opt/ackdoctor/bin/pip install --no-cache-dir --constraint /build/constraints.txt /build

FROM ${PYTHON}
COPY --from=build /opt/ackdoctor /opt/ackdoctor
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin ackdoctor
ENV PATH=/opt/ackdoctor/bin:$PATH PYTHONDONTWRITEBYTECODE=1 XDG_CACHE_HOME=/tmp
USER 10001
WORKDIR /src
ENTRYPOINT ["ackdoctor"]
