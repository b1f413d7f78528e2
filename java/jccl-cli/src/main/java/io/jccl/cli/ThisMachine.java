package io.jccl.cli;

import io.jccl.config.Settings;
import io.jccl.plan.PlanOptions;
import io.jccl.search.SearchOptions;
import io.jccl.topology.HostRank;
import io.jccl.topology.MachineSource;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.SysfsDetector;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TopologyReporter;
import io.jccl.tuning.TuningOverrides;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.IntStream;

/** Requests for reports on this machine, with the settings that hold here. */
public final class ThisMachine {

    private ThisMachine() {}

    /** The machine with so many ranks, which live where this process lives. */
    private static XmlElement describe(int ranks, Settings settings) {
        int numa = SysfsDetector.ofThisMachine().numaNodeOfThisProcess();
        return MachineSource.describe(
                settings,
                IntStream.range(0, ranks)
                        .mapToObj(rank -> new HostRank(rank, numa))
                        .toList());
    }

    /**
     * A request.
     *
     * @param file a description to use instead of this machine's
     * @param ranks on this machine
     * @param machines how many such machines
     * @param localOnly whether networks play no part
     * @throws io.jccl.topology.TopologyException if the file cannot be read
     */
    public static TopologyReporter.Request request(
            Optional<Path> file, int ranks, int machines, boolean localOnly, Settings settings, PlanOptions options) {
        String version = ThisMachine.class.getPackage().getImplementationVersion();
        return new TopologyReporter.Request(
                file.map(Path::toString).orElseGet(() -> MachineSource.name(settings)),
                version == null ? "unknown" : version,
                file.map(TopologyXmlReader::read).orElseGet(() -> describe(ranks, settings)),
                machines,
                localOnly,
                PathPolicy.of(settings),
                Runtime.getRuntime().availableProcessors(),
                CommunicatorShape.SlotBytes.of(settings),
                HostCosts.of(settings),
                TuningOverrides.of(settings),
                options,
                SearchOptions.CrossNic.of(settings));
    }
}
