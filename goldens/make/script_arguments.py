"""The command line of a maker whose docstring says what it is for: --help prints that, and what is
no argument is refused."""

import argparse


def parse(doc, *positional):
    """Namespace of the positional arguments, each a name or (name, settings of add_argument)."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for argument in positional:
        name, settings = (argument, {}) if isinstance(argument, str) else argument
        parser.add_argument(name, **settings)
    return parser.parse_args()
