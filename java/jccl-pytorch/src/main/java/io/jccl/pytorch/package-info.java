/**
 * Distributed training with the JavaCPP presets of PyTorch: see {@link io.jccl.pytorch.DistributedDataParallel} and
 * {@link io.jccl.pytorch.Distributed}.
 */
@NullMarked
package io.jccl.pytorch;

import org.jspecify.annotations.NullMarked;
