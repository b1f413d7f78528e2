/**
 * Tuner plug-ins with NCCL's interface: changes the choices of the cost model. Can be left out.
 */
package io.jccl.tuner;
