/**
 * NVLS: the switch between the GPUs of one host reduces and multicasts. Can be left out.
 */
package io.jccl.nvls;
