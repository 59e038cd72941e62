"""Formulas that judge functions without a float64 form agree with known values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.special

from freezing.tensorflow import formulas

BOXES = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [0.0, 2.0, 1.0, 3.0], [1.0, 1.0, 0.0, 0.0]])


def test_boxes_that_overlap_a_better_one_are_dropped() -> None:
    scores = np.array([0.5, 0.9, 0.3, 0.4])
    assert formulas.non_max_suppression(BOXES, scores, 4).tolist() == [1, 2]
    assert formulas.non_max_suppression(BOXES, scores, 4, iou_threshold=0.95).tolist() == [1, 0, 2]
    assert formulas.non_max_suppression(BOXES, scores, 4, score_threshold=0.3).tolist() == [1]
    assert formulas.non_max_suppression(np.zeros((0, 4)), np.zeros(0), 4).tolist() == []


@pytest.mark.parametrize(("one", "other", "area"), [(0, 1, 0.9), (0, 2, 0.0), (0, 3, 1.0)])
def test_overlap_is_the_shared_area_of_boxes_by_any_corners(one: int, other: int, area: float) -> None:
    assert formulas.overlap(BOXES[one], BOXES[other]) == pytest.approx(area)


def test_the_probability_of_labels_is_that_of_all_paths_that_read_so() -> None:
    logits = np.random.default_rng(1).standard_normal((1, 4, 3))
    shares = scipy.special.softmax(logits[0], axis=-1)

    def reads(path: tuple[int, ...]) -> list[int]:
        return [label for label, _ in itertools.groupby(path) if label != 0]

    every = itertools.product(range(3), repeat=4)
    total = sum(np.prod(shares[range(4), path]) for path in every if reads(path) == [1, 1])
    one = np.array([1])
    loss = formulas.ctc_loss(np.array([[1, 1]]), logits, 2 * one, 4 * one, logits_time_major=False)
    np.testing.assert_allclose(loss, [-np.log(total)])


def test_a_crop_of_the_whole_image_is_the_image() -> None:
    image = np.arange(12.0).reshape(1, 3, 4, 1)
    whole = np.array([[0.0, 0.0, 1.0, 1.0]])
    for method in ("bilinear", "nearest"):
        assert (formulas.crop_and_resize(image, whole, np.array([0]), (3, 4), method) == image).all()
    beyond = formulas.crop_and_resize(image, np.array([[0.0, 0.0, 2.0, 1.0]]), np.array([0]), (3, 4), "bilinear", -7.0)
    assert beyond[0, :, 0, 0].tolist() == [0.0, 8.0, -7.0]


def test_quantized_numbers_are_steps_of_which_zero_is_one() -> None:
    values = formulas.fake_quant(np.linspace(-9, 9, 50), -1.03, 2.0, num_bits=2)
    assert 0.0 in values
    assert len(np.unique(values)) == 4


def test_padding_is_in_no_mean() -> None:
    ones = np.ones((1, 3, 3, 3, 1))
    assert (formulas.FORMULAS["avgpool3d"](ones, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME") == 1).all()


@pytest.mark.parametrize("word", ["resizebilineargrad", "resizebicubicgrad"])
def test_a_resize_back_to_the_same_size_changes_nothing(word: str) -> None:
    slopes = np.random.default_rng(2).standard_normal((1, 3, 4, 2))
    np.testing.assert_allclose(formulas.FORMULAS[word](slopes, np.zeros((1, 3, 4, 2))), slopes)


def test_a_row_that_never_rises_is_its_own_regression() -> None:
    levels, segments = formulas.isotonic_regression(np.array([[3.0, 2.0, 2.5, 0.0]]))
    assert levels.tolist() == [[3.0, 2.25, 2.25, 0.0]]
    assert segments.tolist() == [[0, 1, 1, 2]]


def test_a_class_is_in_the_best_unless_as_many_are_better() -> None:
    scores = np.array([[0.1, 0.7, 0.2], [0.5, 0.5, 0.1]])
    assert formulas.in_top_k(np.array([2, 1]), scores, 1).tolist() == [False, True]
    assert formulas.in_top_k(np.array([2, 2]), scores, 2).tolist() == [True, False]


def test_a_formula_is_of_the_function_or_of_its_word() -> None:
    assert formulas.formula_of("tf.raw_ops.MaxPool3D") is formulas.formula_of("tf.nn.max_pool3d")
    assert formulas.formula_of("tf.raw_ops.BlockLSTM") is not formulas.formula_of("tf.raw_ops.BlockLSTMV2")
    assert formulas.formula_of("tf.math.sin") is None
