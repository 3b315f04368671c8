from reading import score

if __name__ == "__main__":
    score()
