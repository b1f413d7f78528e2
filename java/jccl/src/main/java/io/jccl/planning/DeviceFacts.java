package io.jccl.planning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.tuning.AddedGpuAlgorithm;
import java.util.List;
import java.util.Set;

/**
 * Facts that are known once the ranks' GPUs are connected; equal on all ranks.
 *
 * @param channels number of channels between the GPUs
 * @param ranksPerDevice the largest number of ranks that share a GPU
 * @param minCapability the lowest compute capability times ten
 * @param maxCapability the highest compute capability times ten
 * @param inPlace whether all ranks can address each other's buffers
 * @param throughHost whether ranks of one host reach each other only through host memory
 * @param protocols the protocols that transfer data correctly
 * @param added the algorithms that parts have added
 */
public record DeviceFacts(
        int channels,
        int ranksPerDevice,
        int minCapability,
        int maxCapability,
        boolean inPlace,
        boolean throughHost,
        Set<Protocol> protocols,
        List<AddedGpuAlgorithm> added) {

    /** Returns these facts for operations that certain algorithms do not execute. */
    public DeviceFacts without(Set<Algorithm> algorithms) {
        return new DeviceFacts(
                channels,
                ranksPerDevice,
                minCapability,
                maxCapability,
                inPlace,
                throughHost,
                protocols,
                added.stream()
                        .filter(one -> !algorithms.contains(one.algorithm()))
                        .toList());
    }

    /** Returns these facts for ranks that can, or cannot, address each other's buffers. */
    public DeviceFacts withInPlace(boolean other) {
        return new DeviceFacts(
                channels, ranksPerDevice, minCapability, maxCapability, other, throughHost, protocols, added);
    }
}
