"""What tools/wheel.sh and tests/dist/try_wheel.sh try an installed wheel with, in an empty folder."""

import pathlib

import attnscope as at

rec = at.load("tiny-bert").record("The cat sat on the mat.")
assert abs(rec.weights(layer=0, head=0).sum(axis=1) - 1).max() < 1e-5
rec.figure(kind="heads", layer=0).save("heads.svg")
rec.figure(kind="heatmap", layer=0, head=0).save("head.png")
rec.figure(kind="heatmap", layer=0, head=0).save("head.pdf")
assert b"NotoSans" in pathlib.Path("head.pdf").read_bytes(), "the figure was drawn with another font"
assert b"attnscope" in rec.html()

chinese = at.load("tiny-translate").record("小猫喜欢学习", target="I")
chinese.figure(kind="heatmap", layer=0, head=0).save("chinese.png")  # with boxes, where no font has it
