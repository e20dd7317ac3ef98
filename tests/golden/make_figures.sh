#!/bin/sh
# Draws tests/golden/figures anew: what tests/figure/reference_test.cc compares with. Look at every picture before it is
# kept.
#
#     tests/golden/make_figures.sh [build folder]
set -eu
cd "$(dirname "$0")/../.."
ATTNSCOPE_WRITE_FIGURES=1 "${1:-build}/tests/figure_tests" --gtest_filter='ReferencePictures.EveryFigureMatches'
