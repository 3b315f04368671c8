import json
import os
import sys

import fitting


def main():
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plan.json")
    if len(sys.argv) > 1:
        place = sys.argv[1]
    fitting.fit(place if os.path.exists(place) else json.loads('{"epochs": 3, "rate": 0.05}'))


if __name__ == "__main__":
    main()
