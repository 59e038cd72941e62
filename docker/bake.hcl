// Every image, and what differs between them. `make images` builds those of this machine's CPU;
// `docker buildx bake -f docker/bake.hcl torch-cuda` builds one. `--print` shows what would be done.

variable "PORTOLAN_VERSION" { default = "" }
variable "PORTOLAN_PYTHON" { default = "python:3.11-slim-bookworm" }

// Package indexes: none is named here. Left out, pip's own default holds.
variable "PIP_INDEX_URL" { default = null }
variable "PIP_EXTRA_INDEX_URL" { default = null }

// Not empty: builds of packages that are not in the locks, such as those of another index. Versions stay.
variable "PORTOLAN_ANY_BUILD" { default = "" }

// Not empty: with the packages that only a GPU uses, in every image of torch.
variable "PORTOLAN_WITH_CUDA" { default = "" }

group "default" {
  targets = ["coordinator", "torch-cpu", "torch-xla", "tensorflow-cpu", "jax-cpu"]
}

group "cuda" {
  targets = ["torch-cuda", "tensorflow-gpu", "jax-cuda"]
}

group "tpu" {
  targets = ["torch-tpu", "tensorflow-tpu", "jax-tpu"]
}

target "base" {
  args = {
    PYTHON              = PORTOLAN_PYTHON
    PORTOLAN_VERSION    = PORTOLAN_VERSION
    PIP_INDEX_URL       = PIP_INDEX_URL
    PIP_EXTRA_INDEX_URL = PIP_EXTRA_INDEX_URL
    ANY_BUILD           = PORTOLAN_ANY_BUILD
    WITH_CUDA           = PORTOLAN_WITH_CUDA
  }
}

target "coordinator" {
  inherits   = ["base"]
  dockerfile = "docker/coordinator.Dockerfile"
  tags       = ["portolan/coordinator:latest"]
}

// A runner without a framework: what an image with a framework of your own begins with.
target "runner" {
  inherits   = ["base"]
  dockerfile = "docker/runner.Dockerfile"
  tags       = ["portolan/runner:latest"]
}

target "torch" {
  inherits = ["runner"]
  args = {
    FRAMEWORK = "torch"
    FOLDER    = "runners/torch"
    VERSION   = "2.9.0"
  }
}

target "torch-cpu" {
  inherits = ["torch"]
  tags     = ["portolan/torch-cpu:latest"]
  args = {
    DEVICE  = "cpu"
    VARIANT = "-2.13"
    VERSION = "2.13.0"
    // A build for the CPU is a tenth as large, and in the lock is the one that everybody can get.
    ANY_BUILD = "1"
  }
}

target "torch-cuda" {
  inherits = ["torch"]
  tags     = ["portolan/torch-cuda:latest"]
  args     = { DEVICE = "cuda" }
}

target "torch-xla" {
  inherits = ["torch"]
  tags     = ["portolan/torch-xla:latest"]
  args     = { DEVICE = "xla" }
}

target "torch-tpu" {
  inherits = ["torch"]
  tags     = ["portolan/torch-tpu:latest"]
  args = {
    DEVICE  = "tpu"
    VARIANT = "-tpu"
  }
}

target "tensorflow" {
  inherits = ["runner"]
  args = {
    FRAMEWORK = "tensorflow"
    FOLDER    = "runners/tensorflow"
    VERSION   = "2.21.0"
  }
}

target "tensorflow-cpu" {
  inherits = ["tensorflow"]
  tags     = ["portolan/tensorflow-cpu:latest"]
  args     = { DEVICE = "cpu" }
}

target "tensorflow-gpu" {
  inherits = ["tensorflow"]
  tags     = ["portolan/tensorflow-gpu:latest"]
  args     = { DEVICE = "gpu", VARIANT = "-gpu" }
}

target "tensorflow-tpu" {
  inherits = ["tensorflow"]
  tags     = ["portolan/tensorflow-tpu:latest"]
  args     = { DEVICE = "tpu", VARIANT = "-tpu", VERSION = "2.20.0" }
}

target "jax" {
  inherits = ["runner"]
  args = {
    FRAMEWORK = "jax"
    FOLDER    = "runners/jax"
    VERSION   = "0.10.2"
  }
}

target "jax-cpu" {
  inherits = ["jax"]
  tags     = ["portolan/jax-cpu:latest"]
  args     = { DEVICE = "cpu" }
}

target "jax-cuda" {
  inherits = ["jax"]
  tags     = ["portolan/jax-cuda:latest"]
  args     = { DEVICE = "cuda", VARIANT = "-cuda" }
}

target "jax-tpu" {
  inherits = ["jax"]
  tags     = ["portolan/jax-tpu:latest"]
  args     = { DEVICE = "tpu", VARIANT = "-tpu" }
}
