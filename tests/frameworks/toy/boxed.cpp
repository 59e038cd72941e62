// Kernels for every operation that has none, as an accelerator registers one; built and loaded by test_boxed.py.
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <cstdlib>

static void boxed(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  if (std::getenv("TOY_BY_TORCH")) {
    at::native::cpu_fallback(operation, stack);
  } else {
    // On the device itself, or not: nobody else can tell. It leaves what it is given as it is.
    torch::jit::drop(stack, operation.schema().arguments().size() - 1);
  }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&boxed>());
}
