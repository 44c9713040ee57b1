"""`python -m ackdoctor`."""

from ackdoctor.cli import command

if __name__ == "__main__":
    command()
