import torch


def step(x):
    y = [
        torch.cumsum(x, 0),
        torch.cumprod(x, 0),
    ]
    for row in torch.unbind(
        x,
    ):
        y.append(torch.flip(row, [0]))
    return y


def unused(x):
    return torch.topk(x, 1)


step([])
