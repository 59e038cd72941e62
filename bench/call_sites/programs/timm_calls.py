"""Runs small models of timm, forward and once backward, with losses and data mixing."""

import timm
import torch
from timm import loss as losses
from timm.data.mixup import Mixup
from timm.optim import create_optimizer_v2

for name, size in {
    "resnet10t": 64, "resnetv2_50": 64, "vit_tiny_patch16_224": 64, "deit_tiny_patch16_224": 64, "convnext_atto": 64,
    "efficientnet_lite0": 64, "mobilenetv3_small_050": 64, "mixer_s32_224": 64, "levit_128s": 224,
    "edgenext_xx_small": 64,
    "poolformer_s12": 64, "regnety_002": 64, "ghostnet_050": 64, "repvgg_a0": 64, "mobilevit_xxs": 64,
    "xcit_nano_12_p16_224": 64,
    "swin_tiny_patch4_window7_224": 224, "pit_ti_224": 224, "coat_lite_tiny": 64, "eva02_tiny_patch14_224": 56,
}.items():  # fmt: skip
    image_size = {"img_size": size} if name.startswith(("vit", "deit", "mixer", "eva", "xcit", "coat")) else {}
    try:
        model = timm.create_model(name, pretrained=False, num_classes=4, **image_size)
    except TypeError:
        model, size = timm.create_model(name, pretrained=False, num_classes=4), 224
    model(torch.rand(2, 3, size, size)).sum().backward()
    optimizer = create_optimizer_v2(model, opt="adamw", lr=0.1)
    optimizer.step()

logits, labels = torch.rand(4, 5, requires_grad=True), torch.randint(0, 5, (4,))
losses.LabelSmoothingCrossEntropy()(logits, labels)
losses.SoftTargetCrossEntropy()(logits, torch.rand(4, 5))
losses.BinaryCrossEntropy()(logits, labels)
losses.JsdCrossEntropy(num_splits=2)(logits, labels[:2])
losses.AsymmetricLossMultiLabel()(logits, torch.ones(4, 5))
Mixup(num_classes=5)(torch.rand(4, 3, 8, 8), labels)
parameters = [torch.nn.Parameter(torch.rand(4, 4))]
for name in (
    "adabelief",
    "adafactor",
    "adamp",
    "adan",
    "lamb",
    "lion",
    "madgrad",
    "nadam",
    "novograd",
    "radam",
    "sgdp",
):
    optimizer = create_optimizer_v2(parameters, opt=name, lr=0.1)
    for _ in range(2):
        (parameters[0] ** 2).sum().backward()
        optimizer.step()
