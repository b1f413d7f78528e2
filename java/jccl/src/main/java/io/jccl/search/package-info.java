/** Searches the channels of one host: the orders in which data visits its ranks, and the bandwidth of each channel. */
package io.jccl.search;
