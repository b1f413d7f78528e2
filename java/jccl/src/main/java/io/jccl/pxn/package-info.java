/**
 * PXN, a part that can be left out: a rank sends to other hosts through the GPU of another rank of its host, which is
 * near the network adapter.
 */
package io.jccl.pxn;
