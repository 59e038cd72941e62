"""A ResNet for small images: trained with mixed precision and a schedule, and validated."""

from __future__ import annotations

import argparse
import random
import time

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.amp import GradScaler, autocast
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset, random_split
from torch.utils.data.distributed import DistributedSampler


def conv3x3(inside: int, outside: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inside, outside, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int = 1, norm_layer=nn.BatchNorm2d) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inside, outside, stride), norm_layer(outside)
        self.conv2, self.bn2 = conv3x3(outside, outside), norm_layer(outside)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(
                nn.Conv2d(inside, outside, kernel_size=1, stride=stride, bias=False), norm_layer(outside)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, layers: list[int], classes: int = 10) -> None:
        super().__init__()
        self.inside = 64
        self.conv1 = nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._layer(64, layers[0])
        self.layer2 = self._layer(128, layers[1], stride=2)
        self.layer3 = self._layer(256, layers[2], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(256, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)

    def _layer(self, outside: int, blocks: int, stride: int = 1) -> nn.Sequential:
        layers = [BasicBlock(self.inside, outside, stride)]
        self.inside = outside
        layers += [BasicBlock(outside, outside) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer3(self.layer2(self.layer1(x)))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


class Augmented(Dataset):
    def __init__(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return self.images.size(0)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        image = self.images[index].float().div(255)
        image = F.pad(image, (4, 4, 4, 4), mode="reflect")
        top, left = torch.randint(0, 9, (2,)).tolist()
        image = image[:, top : top + 32, left : left + 32]
        if torch.rand(1).item() < 0.5:
            image = image.flip(-1)
        return (image - image.mean()) / image.std().clamp(min=1e-6), self.labels[index]


def mixup(x: torch.Tensor, y: torch.Tensor, alpha: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    order = torch.randperm(x.size(0), device=x.device)
    return lam * x + (1 - lam) * x[order], y, y[order], lam


def accuracy(output: torch.Tensor, target: torch.Tensor, topk: tuple[int, ...] = (1, 5)) -> list[float]:
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0).mul_(100.0 / target.size(0)).item() for k in topk]


def train(loader, model, criterion, optimizer, scaler, scheduler, ema, device) -> float:
    model.train()
    total = torch.zeros((), device=device)
    for images, target in loader:
        images = images.to(device, non_blocking=True, memory_format=torch.channels_last)
        target = target.to(device, non_blocking=True)
        images, one, other, lam = mixup(images, target, 0.2)
        optimizer.zero_grad(set_to_none=True)
        with autocast(device_type=device.type, dtype=torch.float16):
            output = model(images)
            loss = lam * criterion(output, one) + (1 - lam) * criterion(output, other)
        if not torch.isfinite(loss):
            continue
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
        scaler.step(optimizer)
        scaler.update()
        ema.update_parameters(model)
        total += loss.detach()
    scheduler.step()
    return total.item() / len(loader)


@torch.inference_mode()
def validate(loader, model, criterion, device, classes: int) -> tuple[float, torch.Tensor]:
    model.eval()
    confusion = torch.zeros(classes, classes, dtype=torch.int64, device=device)
    tops = []
    for images, target in loader:
        images, target = images.to(device), target.to(device)
        output = model(images)
        loss = criterion(output, target)
        pred = output.softmax(dim=1).argmax(dim=1)
        confusion += torch.bincount(target * classes + pred, minlength=classes**2).view(classes, classes)
        tops.append(accuracy(output, target)[0])
        print(f"loss {loss.item():.3f}")
    return sum(tops) / len(tops), confusion.diag() / confusion.sum(1).clamp(min=1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--distributed", action="store_true")
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    cudnn.benchmark = True
    torch.use_deterministic_algorithms(False)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(args.seed)
        torch.cuda.set_device(args.gpu)
        device = torch.device("cuda", torch.cuda.current_device())
        print(torch.cuda.get_device_name(device), torch.cuda.device_count())
    elif torch.backends.mps.is_available():
        device = torch.device("mps")
    else:
        device = torch.device("cpu")
    images = torch.randint(0, 256, (1024, 3, 32, 32), dtype=torch.uint8)
    labels = torch.randint(0, 10, (1024,))
    training, held = random_split(TensorDataset(images, labels), [896, 128], torch.Generator().manual_seed(1))
    dataset = Augmented(images[training.indices], labels[training.indices])
    sampler = DistributedSampler(dataset) if args.distributed else RandomSampler(dataset)
    train_loader = DataLoader(dataset, batch_size=64, sampler=sampler, num_workers=2, pin_memory=True)
    val_loader = DataLoader(held, batch_size=64, shuffle=False)

    model = ResNet([2, 2, 2]).to(device, memory_format=torch.channels_last)
    if args.distributed:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        model = nn.parallel.DistributedDataParallel(model, device_ids=[args.gpu])
    elif torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = SequentialLR(
        optimizer,
        [LinearLR(optimizer, 0.01, total_iters=2), CosineAnnealingLR(optimizer, T_max=args.epochs)],
        milestones=[2],
    )
    scaler = GradScaler(device.type)
    ema = AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999))
    best = 0.0
    for epoch in range(args.epochs):
        if args.distributed:
            sampler.set_epoch(epoch)
        began = time.time()
        loss = train(train_loader, model, criterion, optimizer, scaler, scheduler, ema, device)
        top1, per_class = validate(val_loader, ema, nn.CrossEntropyLoss(), device, 10)
        print(f"epoch {epoch}: loss {loss:.3f}, top-1 {top1:.1f}, worst class {per_class.min().item():.2f}")
        print(f"rate {scheduler.get_last_lr()[0]:.4f}, {time.time() - began:.1f} s")
        if top1 > best:
            best = top1
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "best.pt")
    torch.cuda.empty_cache()
    model.load_state_dict(torch.load("best.pt", map_location=device, weights_only=True)["model"])
    scripted = torch.jit.trace(model.eval(), torch.rand(1, 3, 32, 32, device=device))
    torch.jit.save(scripted, "model.pt")


if __name__ == "__main__":
    main()
