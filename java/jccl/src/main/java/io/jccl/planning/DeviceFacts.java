package io.jccl.planning;

import io.jccl.Protocol;
import io.jccl.tuning.CollNetTraits;
import java.util.Optional;
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
 * @param nvls whether the switch between the GPUs reduces and multicasts
 * @param collNet the capabilities of the network between hosts, if it reduces
 */
public record DeviceFacts(
        int channels,
        int ranksPerDevice,
        int minCapability,
        int maxCapability,
        boolean inPlace,
        boolean throughHost,
        Set<Protocol> protocols,
        boolean nvls,
        Optional<CollNetTraits> collNet) {

    /** Returns these facts with or without a switch that reduces. */
    public DeviceFacts withNvls(boolean other) {
        return new DeviceFacts(
                channels,
                ranksPerDevice,
                minCapability,
                maxCapability,
                inPlace,
                throughHost,
                protocols,
                other,
                collNet);
    }

    /** Returns these facts for ranks that can, or cannot, address each other's buffers. */
    public DeviceFacts withInPlace(boolean other) {
        return new DeviceFacts(
                channels, ranksPerDevice, minCapability, maxCapability, other, throughHost, protocols, nvls, collNet);
    }
}
