/**
 * Chooses the algorithm, protocol, channels and chunk size of each operation by a cost model. The model of host ranks
 * uses measured constants, that of GPUs the channels found. Each communicator tabulates its choices once, so that the
 * choice for an operation is a look-up.
 */
package io.jccl.tuning;
