import sys

print("the database address is missing")
sys.exit(3)
