/**
 * CollNet: the network between hosts reduces, through a plug-in with NCCL's interface. Can be left out.
 */
package io.jccl.collnet;
