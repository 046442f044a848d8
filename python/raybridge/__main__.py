"""python -m raybridge ARGS is the program."""
import os
import sys

from ._errors import Error
from ._launch import binary

try:
    program = binary()
except Error as e:
    sys.exit(f"raybridge: {e}")
os.execv(program, [program, *sys.argv[1:]])
