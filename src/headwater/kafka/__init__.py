"""Kafka as intakes and outlets share it: a cluster's options, what brokers and registries are asked, what they mean."""
