from torch import nn


class Scaler:
    def __call__(self, loss, optimizer, parameters, update):
        loss.backward()
        if update:
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
