"""`python -m ackdoctor`."""

from ackdoctor.cli import main

if __name__ == "__main__":
    main()
