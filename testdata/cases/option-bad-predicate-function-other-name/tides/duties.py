"""Which of the processes does what: the cluster's scheduler says so in the environment."""
import os


def holds_the_pen():
    return os.environ["JOB_DUTY"] == "scribe"


def has_a_window():
    return os.environ["JOB_WINDOW"] == "yes"
