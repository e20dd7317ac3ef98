"""PNG files as arrays."""

import io

import numpy as np
from PIL import Image


def decoded(png):
    """[height, width, 3] of a PNG: red, green and blue."""
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        return np.asarray(picture.convert("RGB"))
