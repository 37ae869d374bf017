"""The training part of the golden numbers: one backward pass and ten steps of plain SGD."""
import torch
from torch.nn.functional import cross_entropy

STEPS = 10
# Biases the softmax cannot see have no gradient; what float64 leaves of it is rounding.
NOISE = 1e-13


def train(model, named, x, labels, learning_rate, noise=NOISE):
    """grad.NAME at the first step, after.NAME of running statistics after it, and the losses."""
    losses, tensors = [], {}
    for step in range(STEPS):
        model.zero_grad()
        loss = cross_entropy(model(x), labels)
        loss.backward()
        losses.append(loss.item())
        for name, tensor in named.items():
            if step == 0 and tensor.requires_grad:
                grad = torch.where(tensor.grad.abs() < noise, 0, tensor.grad)
                tensors[f"grad.{name}"] = grad.float().numpy()
            elif step == 0:
                tensors[f"after.{name}"] = tensor.float().numpy().copy()
            if tensor.requires_grad:
                tensor.data -= learning_rate * tensor.grad
    tensors["losses"] = torch.tensor(losses).float().numpy()
    return tensors, losses
