"""Runs models, transforms and operations of torchvision, except operations that its C++ code computes."""

import torch
import torchvision
from torchvision import models, ops
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

for name, size in {
    "resnet18": 64, "mobilenet_v3_small": 64, "shufflenet_v2_x0_5": 64, "squeezenet1_1": 64, "efficientnet_b0": 64,
    "mnasnet0_5": 64, "regnet_y_400mf": 64, "googlenet": 96, "convnext_tiny": 64, "swin_t": 64, "swin_v2_t": 64,
}.items():  # fmt: skip
    model = models.get_model(name, weights=None, **({"init_weights": False} if name == "googlenet" else {}))
    out = model(torch.rand(2, 3, size, size))
    (out[0] if isinstance(out, tuple) else out).sum().backward()
models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)(torch.rand(2, 3, 64, 64))
models.VisionTransformer(32, 8, 1, 2, 16, 32)(torch.rand(2, 3, 32, 32))

image = torch.rand(3, 16, 20)
for transform in (
    v2.Resize(8), v2.RandomHorizontalFlip(1.0), v2.RandomVerticalFlip(1.0), v2.ColorJitter(0.3, 0.3, 0.3, 0.3),
    v2.GaussianBlur(3), v2.Normalize([0.5] * 3, [0.5] * 3), v2.RandomRotation(10), v2.RandomErasing(1.0), v2.Pad(2),
    v2.RandomAffine(10, (0.1, 0.1), (0.8, 1.2), 5), v2.RandomPerspective(0.5, 1.0), v2.Grayscale(), v2.CenterCrop(10),
    v2.RandomPosterize(3, 0.0), v2.RandomAdjustSharpness(2.0, 1.0), v2.RandomAutocontrast(1.0), v2.FiveCrop(8),
    v2.RandomSolarize(0.5, 1.0), v2.RandomInvert(1.0), v2.RandomResizedCrop(8),
):  # fmt: skip
    transform(image)
functional.equalize(image)
functional.posterize((image * 255).to(torch.uint8), 3)
v2.MixUp(num_classes=4)(torch.rand(4, 3, 8, 8), torch.randint(0, 4, (4,)))
v2.CutMix(num_classes=4)(torch.rand(4, 3, 8, 8), torch.randint(0, 4, (4,)))
boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 5.0, 6.0]])
for loss in (ops.generalized_box_iou_loss, ops.distance_box_iou_loss, ops.complete_box_iou_loss):
    loss(boxes, boxes + 1, reduction="mean")
for overlap in (ops.box_iou, ops.generalized_box_iou, ops.distance_box_iou, ops.complete_box_iou):
    overlap(boxes, boxes)
ops.box_convert(boxes, "xyxy", "cxcywh")
ops.clip_boxes_to_image(boxes, (3, 3))
ops.remove_small_boxes(boxes, 1.0)
ops.masks_to_boxes(torch.ones(2, 4, 4))
ops.sigmoid_focal_loss(torch.rand(3), torch.ones(3), reduction="mean")
ops.stochastic_depth(image[None], 0.5, "row")
ops.DropBlock2d(0.5, 3)(image[None])
ops.SqueezeExcitation(3, 2)(image[None])
ops.FeaturePyramidNetwork([3], 4)({"0": image[None]})
ops.FrozenBatchNorm2d(3)(image[None])
torchvision.utils.make_grid(torch.rand(4, 3, 8, 8), normalize=True)
