package io.jccl.planning;

import io.jccl.tuning.HostTraits;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The survey that one rank made of its host. The ranks exchange their surveys.
 *
 * @param channels the channels, for the plan
 * @param traits further properties of the host that the cost model for GPUs needs
 * @param netGBps the bandwidth of the host's best network device, in GB/s
 * @param cores the number of processors that the host's ranks share, as far as affinities and quotas allow their use
 */
public record MachineSurvey(RankChannels channels, HostTraits traits, double netGBps, int cores) {

    public MachineSurvey {
        if (!(netGBps > 0) || Double.isInfinite(netGBps)) {
            throw new IllegalArgumentException("netGBps=" + netGBps + ": expected a bandwidth");
        }
        if (cores < 1) {
            throw new IllegalArgumentException("cores=" + cores + ": expected at least 1");
        }
    }

    /**
     * Returns the surveys of all ranks of several hosts, which may differ. Gives the ranks new numbers: host by host,
     * and on each host in the order of the rank numbers in its topology.
     *
     * @param hosts the survey of the lowest rank of each host, with the rank numbers of the host's topology
     */
    public static List<MachineSurvey> together(List<MachineSurvey> hosts) {
        List<MachineSurvey> ranks = new ArrayList<>();
        for (int host = 0; host < hosts.size(); host++) {
            int base = ranks.size();
            Map<Integer, Integer> numbers = new HashMap<>();
            MachineSurvey survey = hosts.get(host);
            survey.channels.rings().orders().get(0).stream()
                    .sorted()
                    .forEach(local -> numbers.put(local, base + numbers.size()));
            RankChannels lowest = survey.channels.renumbered("machine-" + host, numbers::get);
            for (int rank = base; rank < base + numbers.size(); rank++) {
                ranks.add(new MachineSurvey(lowest.withRank(rank), survey.traits, survey.netGBps, survey.cores));
            }
        }
        return ranks;
    }
}
