"""Recipes of functions of signals: Fourier and cosine transforms, windows, frames, spectra."""

from __future__ import annotations

from freezing.tensorflow.recipe import recipe

X = "input input_tensor x a signal signals"
FOURIER = "(?i)fft|dct|shift|stft"

RECIPES = [
    recipe(
        "signal",
        lambda d: {X: d.array(3, 8)},
        {"fft_length": [6]},
        {"norm": "ortho"},
        {"axis": 0},
        {"type": 3},
        {"axes": [0]},
        only=FOURIER,
    ),
    recipe("signal-plane", lambda d: {X: d.array(2, 4, 6)}, {"fft_length": [4, 4]}, only=FOURIER),
    recipe("signal-volume", lambda d: {X: d.array(2, 2, 4, 4)}, {"fft_length": [2, 4, 4]}, only=FOURIER),
    recipe("signal-of-a-length", lambda d: {X: d.array(3, 8), "fft_length": [8]}, only=FOURIER),
    recipe("signal-plane-of-lengths", lambda d: {X: d.array(2, 4, 6), "fft_length": [4, 6]}, only=FOURIER),
    recipe("signal-volume-of-lengths", lambda d: {X: d.array(2, 2, 4, 4), "fft_length": [2, 4, 4]}, only=FOURIER),
    recipe("signal-half-of-a-length", lambda d: {X: d.array(3, 5), "fft_length": [8]}, only="(?i)irfft"),
    recipe("signal-along", lambda d: {X: d.array(4, 6), "fft_length": [4, 6], "axes": [0, 1]}, only=FOURIER),
    recipe("signal-pair", lambda d: {"x": (d.array(3, 8), d.array(3, 8))}, {"fft_length": 8}, only=FOURIER),
    recipe("signal-pair-plane", lambda d: {"x": (d.array(2, 4, 4), d.array(2, 4, 4))}, only=FOURIER),
    recipe("window", lambda d: {"window_length": 8}, {"periodic": False}, {"beta": 4.0}),
    recipe("framed", lambda d: {"signal x": d.array(2, 12), "frame_length": 4, "frame_step": 2}, {"pad_end": True}),
    recipe(
        "spectrum",
        lambda d: {"signals": d.array(2, 16), "frame_length": 8, "frame_step": 4},
        {"pad_end": True},
        {"fft_length": 8},
    ),
    recipe("spectrum-back", lambda d: {"stfts": d.array(3, 5), "frame_length": 8, "frame_step": 4, "fft_length": 8}),
    recipe(
        "spectrum-plain", lambda d: {"x": d.array(2, 16), "sequence_length": 8, "sequence_stride": 4, "fft_length": 8}
    ),
    recipe(
        "spectrum-plain-back",
        lambda d: {
            "x": (d.array(2, 3, 5), d.array(2, 3, 5)),
            "sequence_length": 8,
            "sequence_stride": 4,
            "fft_length": 8,
        },
    ),
    recipe("sequences-cut", lambda d: {"x": d.array(2, 12), "sequence_length": 4, "sequence_stride": 2}),
    recipe("overlapped", lambda d: {"signal": d.array(3, 4), "frame_step": 2}),
    recipe("cosines", lambda d: {"signals": d.array(16), "frame_length": 8}, {"norm": "ortho"}),
    recipe("cosines-back", lambda d: {"mdcts": d.array(3, 4)}),
    recipe("cepstrum", lambda d: {"log_mel_spectrograms": d.array(2, 8)}),
    recipe("mel", lambda d: {"num_mel_bins": 5, "num_spectrogram_bins": 16}),
    recipe("spectrogram", lambda d: {"input": d.array(32, 1), "window_size": 8, "stride": 4}),
    recipe("cepstrum-of-spectrogram", lambda d: {"spectrogram": d.positive(1, 4, 9), "sample_rate": 8000}),
    recipe(
        "convolved-vectors", lambda d: {"x1 a": d.array(6), "x2 v": d.array(3)}, {"mode": "valid"}, {"mode": "same"}
    ),
    recipe("analytic", lambda d: {"x": d.array(8)}, {"n": 6}),
]
