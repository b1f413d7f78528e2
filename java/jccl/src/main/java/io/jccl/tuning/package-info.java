/**
 * Which algorithm, protocol, channels and chunk size an operation uses: a cost model - of host ranks over measured
 * constants, of GPUs over the channels found - tabulated once per communicator so that the choice for one operation is a
 * look-up.
 */
package io.jccl.tuning;
