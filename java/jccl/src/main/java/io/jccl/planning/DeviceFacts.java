package io.jccl.planning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.tuning.AddedGpuAlgorithm;
import io.jccl.tuning.HostTraits;
import io.jccl.tuning.Ll128;
import java.util.EnumSet;
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

    /**
     * Returns the facts that a plan predicts: GPUs use each other's memory except where the plan keeps them apart, and
     * all protocols pass their tests.
     *
     * @param traits the traits of all hosts together
     * @param threads whether all ranks are threads of one process
     */
    public static DeviceFacts planned(Plan plan, HostTraits traits, boolean threads, PlanningOptions options) {
        boolean staged = plan.hosts().size() > 1 || traits.apart();
        return new DeviceFacts(
                Math.min(plan.channels(), Planner.MAX_DEVICE_CHANNELS),
                traits.ranksPerDevice(),
                traits.minCapability(),
                traits.maxCapability(),
                threads && !staged,
                traits.apart(),
                trusted(EnumSet.allOf(Protocol.class), staged, traits.ranksPerDevice(), options),
                options.added().onGpus());
    }

    /**
     * Returns the protocols that may be used of those that passed their tests: not LL128, unless it is forced, if data
     * goes through host memory or ranks share a GPU. In host memory a 128-byte line can become visible in parts. Whether
     * this happens between ranks of one GPU has not been measured.
     *
     * @param staged whether any two ranks exchange data through host memory
     */
    public static Set<Protocol> trusted(
            Set<Protocol> passed, boolean staged, int ranksPerDevice, PlanningOptions options) {
        Set<Protocol> trusted = EnumSet.copyOf(passed);
        if ((staged || ranksPerDevice > 1) && options.overrides().ll128() != Ll128.FORCE) {
            trusted.remove(Protocol.LL128);
        }
        return trusted;
    }

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
