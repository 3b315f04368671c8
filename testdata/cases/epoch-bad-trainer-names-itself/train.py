import sys

import trainers


def main():
    name = (sys.argv[1] if len(sys.argv) > 1 else "Reef") + "Trainer"
    getattr(trainers, name)(3).run()


if __name__ == "__main__":
    main()
