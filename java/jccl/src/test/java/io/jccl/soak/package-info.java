/**
 * Runs random operations for any length of time while memory, descriptors and threads are sampled: {@code
 * scripts/check-soak}. {@link io.jccl.soak.Epoch} is the life of one communicator, {@link io.jccl.soak.SoakWorker} is a
 * process of ranks, and {@link io.jccl.soak.Trend} decides whether a quantity stays flat.
 */
package io.jccl.soak;
