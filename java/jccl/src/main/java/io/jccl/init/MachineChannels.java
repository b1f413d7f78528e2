package io.jccl.init;

import io.jccl.plan.RankChannels;
import io.jccl.tuning.MachineTraits;
import java.util.ArrayList;
import java.util.List;

/**
 * What all ranks found on their machines.
 *
 * @param ofRanks the channels, by rank
 * @param traits of all machines together
 * @param netGBps the bandwidth of the slowest machine's best network device, in GB/s
 */
record MachineChannels(List<RankChannels> ofRanks, MachineTraits traits, double netGBps) {

    /** @param all what {@link ChannelsCodec#encode} made on each rank, by rank */
    static MachineChannels decode(PeerMap map, List<byte[]> all) {
        List<RankChannels> channels = new ArrayList<>();
        List<MachineTraits> machines = new ArrayList<>();
        double netGBps = Double.POSITIVE_INFINITY;
        for (int peer = 0; peer < all.size(); peer++) {
            LocalTopology.Found found =
                    ChannelsCodec.decode(peer, map.machineOf(peer), map.ranksOfMachine(peer), all.get(peer));
            channels.add(found.channels());
            machines.add(found.traits());
            netGBps = Math.min(netGBps, found.netGBps());
        }
        return new MachineChannels(channels, MachineTraits.together(machines), netGBps);
    }
}
