package io.jccl.planning;

import io.jccl.Protocol;
import io.jccl.tuning.CollNetTraits;
import java.util.Optional;
import java.util.Set;

/**
 * What connecting the ranks' GPUs has shown; equal on all ranks.
 *
 * @param channels of the communicator's part on the GPUs
 * @param ranksPerDevice the most ranks that share a GPU
 * @param minCapability the lowest compute capability times ten
 * @param maxCapability the highest
 * @param inPlace whether all ranks can address each other's buffers
 * @param throughHost whether ranks of one host reach each other through the host's memory only
 * @param protocols those with which data arrives as it was sent
 * @param nvls whether the switch between the GPUs reduces and multicasts
 * @param collNet what the network between hosts does itself, if it does
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

    /** These facts with or without a switch that reduces. */
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

    /** These facts where all ranks can address each other's buffers, or not. */
    public DeviceFacts withInPlace(boolean other) {
        return new DeviceFacts(
                channels, ranksPerDevice, minCapability, maxCapability, other, throughHost, protocols, nvls, collNet);
    }
}
