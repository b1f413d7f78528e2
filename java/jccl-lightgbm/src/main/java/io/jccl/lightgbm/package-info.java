/**
 * LightGBM's distributed training over a {@link io.jccl.Communicator}. {@link io.jccl.lightgbm.LightGbmNetwork}
 * replaces LightGBM's own network.
 */
@NullMarked
package io.jccl.lightgbm;

import org.jspecify.annotations.NullMarked;
