import deepspeed
from torch import nn

from native import rows

SETTINGS = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}


def main():
    net = nn.Linear(3, 1)
    engine, optimizer, loader, _ = deepspeed.initialize(
        model=net, model_parameters=net.parameters(), training_data=rows(), config=SETTINGS
    )
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.mse_loss(engine(x.to(engine.device)), y.to(engine.device))
            engine.backward(loss)
            engine.step()
        engine.save_checkpoint("deep", tag=f"epoch{epoch}")


if __name__ == "__main__":
    main()
