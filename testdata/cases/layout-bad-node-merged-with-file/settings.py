from yacs.config import CfgNode as Node

settings = Node()
settings.MODEL = Node()
settings.MODEL.DISTRIBUTED = False
settings.TRAIN = Node()
settings.TRAIN.DISTRIBUTED = False
settings.TRAIN.EPOCHS = 2
