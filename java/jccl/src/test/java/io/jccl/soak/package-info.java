/**
 * Random operations for as long as one likes, while memory, descriptors and threads are watched: {@code
 * scripts/check-soak}. {@link io.jccl.soak.Epoch} is what ranks do with one communicator, {@link io.jccl.soak.SoakWorker} a
 * process of ranks, and {@link io.jccl.soak.Trend} decides whether a curve is flat.
 */
package io.jccl.soak;
