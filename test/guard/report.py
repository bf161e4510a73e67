"""What a check prints of counts that are not the recorded ones."""


def report(worse, faults, better, gains, command):
    """Prints both lists under their titles, and the command that records anew; the exit status."""
    for title, lines in ((worse, faults), (better, gains)):
        if lines:
            print(f"{title}:\n  " + "\n  ".join(lines))
    if faults or gains:
        print(f"where that is meant, record anew and commit the difference: {command}")
    return 1 if faults else 0
