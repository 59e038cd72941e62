"""Recipes of functions of images and boxes: colors, sizes, crops, warps, filters, and the selection of boxes."""

from __future__ import annotations

import numpy as np

from freezing.tensorflow.recipe import Array, recipe

ONE = "image images x input value"


def boxes() -> Array:
    return np.array([[0.0, 0.0, 0.5, 0.5], [0.1, 0.1, 0.6, 0.6], [0.5, 0.4, 0.9, 1.0]])


def places() -> Array:
    """Return boxes as corners, for an image of 8 by 8 pixels."""
    return np.array([[[0.0, 0.0, 4.0, 4.0], [1.0, 2.0, 6.0, 7.0], [5.0, 4.0, 8.0, 8.0]]])


RECIPES = [
    recipe("image", lambda d: {ONE: d.unit(6, 5, 3)}, {"k": 2}, {"gamma": 2.0, "gain": 0.5}),
    recipe("images", lambda d: {ONE: d.unit(2, 6, 5, 3)}),
    recipe("image-of-grey", lambda d: {ONE: d.unit(6, 5, 1)}),
    recipe("images-of-grey", lambda d: {ONE: d.unit(2, 6, 5, 1)}),
    recipe(
        "adjusted",
        lambda d: {"image images": d.unit(6, 5, 3), "delta contrast_factor saturation_factor scale factor": 0.3},
    ),
    recipe(
        "adjusted-by-an-array", lambda d: {"images": d.unit(6, 5, 3), "delta contrast_factor scale": np.asarray(0.3)}
    ),
    recipe(
        "contrast",
        lambda d: {
            "images": d.unit(6, 5, 3),
            "contrast_factor": np.asarray(0.3),
            "min_value": np.asarray(0.1),
            "max_value": np.asarray(0.9),
        },
    ),
    recipe("cropped-centre", lambda d: {"image": d.unit(6, 4, 3), "central_fraction": 0.5}),
    recipe(
        "cropped",
        lambda d: {
            "image": d.unit(6, 5, 3),
            "offset_height": 1,
            "offset_width": 2,
            "target_height": 3,
            "target_width": 2,
        },
    ),
    recipe(
        "padded",
        lambda d: {
            "image": d.unit(3, 2, 3),
            "offset_height": 1,
            "offset_width": 2,
            "target_height": 6,
            "target_width": 5,
        },
    ),
    recipe(
        "cropped-or-padded",
        lambda d: {"image": d.unit(6, 4, 3), "target_height": 4, "target_width": 6},
        {"method": "nearest"},
        {"antialias": True},
    ),
    recipe(
        "cropped-plain",
        lambda d: {
            "images": d.unit(1, 6, 5, 3),
            "top_cropping": 1,
            "left_cropping": 1,
            "target_height": 3,
            "target_width": 2,
        },
    ),
    recipe(
        "padded-plain",
        lambda d: {
            "images": d.unit(1, 3, 2, 3),
            "top_padding": 1,
            "left_padding": 1,
            "target_height": 6,
            "target_width": 5,
        },
    ),
    recipe(
        "resized",
        lambda d: {"images x": d.unit(1, 4, 5, 3), "size": [7, 3]},
        {"method": "nearest"},
        {"method": "bicubic"},
        {"method": "area"},
        {"antialias": True},
        {"interpolation": "nearest"},
        {"align_corners": True},
        {"half_pixel_centers": True},
    ),
    recipe(
        "resized-down",
        lambda d: {"images": d.unit(1, 6, 6, 2), "size": [3, 2]},
        {"method": "lanczos3"},
        {"method": "gaussian"},
    ),
    recipe(
        "resized-back", lambda d: {"grads": d.array(1, 6, 6, 2), "original_image": d.array(1, 3, 3, 2), "size": [3, 3]}
    ),
    recipe(
        "resized-by-factors",
        lambda d: {"x": d.unit(1, 3, 2, 2), "height_factor": 2, "width_factor": 3, "data_format": "channels_last"},
    ),
    recipe(
        "resized-volume",
        lambda d: {
            "x": d.unit(1, 2, 3, 2, 2),
            "depth_factor": 2,
            "height_factor": 2,
            "width_factor": 2,
            "data_format": "channels_last",
        },
    ),
    recipe(
        "scaled",
        lambda d: {
            "images": d.unit(1, 4, 4, 2),
            "output_shape": [1, 6, 6, 2],
            "scale": np.array([1.5, 1.5]),
            "translation": np.array([0.0, 0.5]),
            "spatial_dims": [1, 2],
            "method": "linear",
        },
    ),
    recipe(
        "scaled-raw",
        lambda d: {
            "images": d.unit(1, 4, 4, 2),
            "size": [6, 6],
            "scale": np.array([1.5, 1.5]),
            "translation": np.array([0.0, 0.5]),
        },
    ),
    recipe("converted", lambda d: {"image": d.unit(4, 3, 3), "dtype": "float16"}, {"dtype": "uint8", "saturate": True}),
    recipe(
        "patches",
        lambda d: {
            "images": d.unit(1, 5, 5, 2),
            "sizes ksizes": [1, 2, 2, 1],
            "strides": [1, 2, 2, 1],
            "rates": [1, 1, 1, 1],
            "padding": "VALID",
        },
        {"padding": "SAME"},
    ),
    recipe("patches-plain", lambda d: {"images": d.unit(1, 6, 6, 2), "size": 2}, {"strides": 1, "padding": "same"}),
    recipe(
        "patches-of-volume",
        lambda d: {
            "input": d.unit(1, 4, 4, 4, 2),
            "ksizes": [1, 2, 2, 2, 1],
            "strides": [1, 2, 2, 2, 1],
            "padding": "VALID",
        },
    ),
    recipe("patches-of-volume-plain", lambda d: {"volumes": d.unit(1, 4, 4, 4, 2), "size": 2}),
    recipe(
        "warped",
        lambda d: {
            "images": d.unit(1, 4, 5, 2),
            "transform transforms": np.array([[1.0, 0.2, 0.5, 0.1, 0.9, 0.3, 0.0, 0.0]]),
        },
        {"interpolation": "nearest"},
        {"fill_mode": "reflect"},
    ),
    recipe(
        "warped-raw",
        lambda d: {
            "images": d.unit(1, 4, 5, 2),
            "transforms": np.array([[1.0, 0.2, 0.5, 0.1, 0.9, 0.3, 0.0, 0.0]]),
            "output_shape": [4, 5],
            "interpolation": "BILINEAR",
            "fill_value": 0.5,
        },
    ),
    recipe(
        "perspective",
        lambda d: {
            "images": d.unit(1, 4, 4, 2),
            "start_points": np.array([[[0.0, 0.0], [0.0, 3.0], [3.0, 0.0], [3.0, 3.0]]]),
            "end_points": np.array([[[0.0, 0.0], [0.2, 2.5], [2.8, 0.1], [3.0, 3.0]]]),
        },
    ),
    recipe(
        "coordinates",
        lambda d: {"inputs": d.array(4, 5), "coordinates": np.array([[0.5, 1.2, 2.8], [1.0, 0.3, 3.7]]), "order": 1},
        {"order": 0},
        {"fill_mode": "nearest"},
    ),
    recipe("blurred", lambda d: {"images": d.unit(1, 6, 6, 2), "kernel_size": (3, 3), "sigma": (1.0, 1.0)}),
    recipe(
        "compared",
        lambda d: {"a img1 image1 x1": d.unit(1, 12, 12, 2), "b img2 image2 x2": d.unit(1, 12, 12, 2), "max_val": 1.0},
        {"filter_size": 5},
    ),
    recipe("compared-plain", lambda d: {"image1": d.unit(1, 12, 12, 2), "image2": d.unit(1, 12, 12, 2)}),
    recipe(
        "compared-at-scales",
        lambda d: {
            "img1": d.unit(1, 24, 24, 1),
            "img2": d.unit(1, 24, 24, 1),
            "max_val": 1.0,
            "power_factors": [0.5, 0.5],
            "filter_size": 5,
        },
    ),
    recipe(
        "boxes-cropped",
        lambda d: {
            "image": d.unit(1, 6, 6, 2),
            "boxes": boxes(),
            "box_indices box_ind": d.ints(3, high=1),
            "crop_size": [3, 3],
        },
        {"method": "nearest"},
    ),
    recipe(
        "boxes-drawn",
        lambda d: {"images": d.unit(1, 6, 6, 3), "boxes": boxes()[None], "colors": np.array([[1.0, 0.0, 0.5]])},
    ),
    recipe(
        "boxes-chosen",
        lambda d: {"boxes": boxes(), "scores": np.array([0.9, 0.8, 0.3]), "max_output_size": 2},
        {"iou_threshold": 0.9},
        {"score_threshold": 0.5},
    ),
    recipe(
        "boxes-chosen-raw",
        lambda d: {
            "boxes": boxes(),
            "scores": np.array([0.9, 0.8, 0.3]),
            "max_output_size": np.asarray(2, np.int32),
            "iou_threshold": np.asarray(0.5),
            "score_threshold": np.asarray(0.1),
            "soft_nms_sigma": np.asarray(0.0),
        },
    ),
    recipe(
        "boxes-chosen-by-overlap",
        lambda d: {
            "overlaps": np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.2], [0.1, 0.2, 1.0]]),
            "scores": np.array([0.9, 0.8, 0.3]),
            "max_output_size": 2,
            "overlap_threshold": 0.5,
            "score_threshold": 0.0,
        },
    ),
    recipe(
        "boxes-chosen-of-classes",
        lambda d: {
            "boxes": boxes()[None, :, None],
            "scores": np.array([[[0.9, 0.2], [0.8, 0.1], [0.3, 0.7]]]),
            "max_output_size_per_class": 2,
            "max_total_size": 3,
            "iou_threshold": 0.5,
            "score_threshold": 0.0,
        },
    ),
    recipe("glimpses", lambda d: {"input": d.unit(1, 6, 6, 2), "size": [3, 3], "offsets": np.array([[0.1, -0.2]])}),
    recipe(
        "boxes-by-corners",
        lambda d: {"boxes bounding_boxes": places(), "source": "xyxy", "target": "xywh", "height": 8, "width": 8},
        {"bounding_box_format": "xyxy"},
    ),
    recipe(
        "boxes-compared",
        lambda d: {"boxes1": places(), "boxes2": places()[:, ::-1] + 0.5, "bounding_box_format": "xyxy"},
    ),
    recipe(
        "boxes-encoded",
        lambda d: {
            "anchors": places()[0],
            "boxes boxes_delta": places()[0] + 0.5,
            "anchor_format": "xyxy",
            "box_format": "xyxy",
        },
    ),
    recipe("boxes-moved", lambda d: {"boxes": places(), "top": 1, "left": 1, "height": 6, "width": 6}),
    recipe(
        "boxes-turned",
        lambda d: {
            "boxes": places(),
            "angle": np.array([10.0]),
            "translate_x": np.array([0.1]),
            "translate_y": np.array([0.2]),
            "scale": np.array([1.1]),
            "shear_x": np.array([0.0]),
            "shear_y": np.array([0.0]),
            "height": 8,
            "width": 8,
        },
    ),
    recipe("distorted", lambda d: {"image": d.unit(6, 5, 3), "max_delta": 0.2, "lower": 0.2, "upper": 0.8, "seed": 3}),
    recipe(
        "distorted-by-a-seed",
        lambda d: {"image": d.unit(6, 5, 3), "max_delta": 0.2, "lower": 0.2, "upper": 0.8, "seed": [3, 4]},
    ),
    recipe("cropped-at-random", lambda d: {"value": d.unit(6, 5, 3), "size": [3, 2, 3]}, {"seed": [3, 4]}),
    recipe("sampled-boxes", lambda d: {"image_size": [8, 8, 3], "bounding_boxes": boxes()[None]}, {"seed": [3, 4]}),
]
