/** Data-parallel training with the Deep Java Library: see {@link io.jccl.djl.DataParallel}. */
@NullMarked
package io.jccl.djl;

import org.jspecify.annotations.NullMarked;
