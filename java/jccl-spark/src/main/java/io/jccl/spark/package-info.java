/**
 * Communicators between the tasks of a Spark barrier stage: {@link io.jccl.spark.JcclBarrier} starts the stage, {@link
 * io.jccl.spark.JcclAggregate} sums over its ranks, and {@link io.jccl.spark.Lbfgs} and {@link io.jccl.spark.GradientDescent}
 * minimise a function of all ranks' rows.
 */
@NullMarked
package io.jccl.spark;

import org.jspecify.annotations.NullMarked;
