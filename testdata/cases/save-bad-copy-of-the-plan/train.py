import json
import os

from fitting import fit

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    with open(os.path.join(HERE, "plan.json")) as source:
        plan = json.load(source)
    fit(plan)


if __name__ == "__main__":
    main()
