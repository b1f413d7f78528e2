package io.jccl.cli.topo;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import io.jccl.config.Settings;
import io.jccl.init.Parts;
import io.jccl.planning.PlanOptions;
import io.jccl.planning.PlanningOptions;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.search.SearchOptions;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.PathType;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TuningOverrides;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Makes reports of made-up hosts. */
public final class Reports {

    /** How the GPUs of a made-up host are connected. */
    public enum Fabric {
        /** The GPUs are connected by PCI only. */
        PCI,
        /** Each GPU has NVLinks to a switch. */
        SWITCH,
        /** Each GPU has an NVLink to every other GPU. */
        MESH,
        /** Each GPU has a chip-to-chip link to its CPU, which bypasses the PCI switch. */
        CHIP_TO_CHIP
    }

    /** A host with two GPUs, the first of which is shared by three ranks. */
    public static final String SHARED =
            """
            <system version="1"><cpu numaid="0" arch="x86_64">
            <pci busid="0000:11:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
            <gpu dev="0" sm="90" rank="0"/><gpu dev="0" sm="90" rank="1"/><gpu dev="0" sm="90" rank="2"/></pci>
            <pci busid="0000:12:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
            <gpu dev="1" sm="90" rank="3"/></pci></cpu></system>""";

    private Reports() {}

    /** Returns the report of a description, for {@code hosts} identical hosts. */
    public static TopologyReport of(String xml, int hosts) {
        return TopologyReporter.report(request(xml, hosts), () -> 0);
    }

    /** Returns the reports of hosts with different descriptions. */
    public static List<TopologyReport> ofUnlike(String... hosts) {
        return TopologyReporter.reportUnlike(
                Stream.of(hosts).map(xml -> request(xml, hosts.length)).toList(), () -> 0);
    }

    private static TopologyReporter.Request request(String xml, int hosts) {
        XmlElement description = TopologyXmlReader.read(xml);
        SlotBytes slots = new SlotBytes(8192, 16384, 65536);
        return new TopologyReporter.Request(
                "made <up> & \"so\".xml",
                "test",
                description,
                hosts,
                false,
                PathPolicy.defaults(),
                SearchOptions.CrossNic.IF_BETTER,
                Optional.empty(),
                4,
                TransportKind.SHM,
                new PlanningOptions(
                        PlanOptions.defaults(),
                        slots,
                        slots,
                        TuningOverrides.none(),
                        HostCosts.builtIn(),
                        Parts.expected(Settings.load(CommunicatorConfig.defaults())),
                        1));
    }

    /**
     * Returns the description of a host. Each NUMA node has {@code switches} PCI switches; each switch has {@code gpus}
     * GPUs and one network card with two ports.
     */
    public static String host(int cpus, int switches, int gpus, Fabric fabric) {
        StringBuilder xml = new StringBuilder("<system version=\"1\">");
        int all = cpus * switches * gpus;
        int rank = 0;
        int bus = 1;
        for (int cpu = 0; cpu < cpus; cpu++) {
            xml.append("<cpu numaid=\"").append(cpu);
            xml.append("\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\">");
            for (int i = 0; i < switches; i++) {
                pci(xml, address(0x80 + bus), "0x060400");
                for (int gpu = 0; gpu < gpus; gpu++) {
                    pci(xml, address(rank + 1), "0x030200");
                    xml.append(String.format("<gpu dev=\"%d\" sm=\"80\" rank=\"%d\" gdr=\"1\">", rank, rank));
                    fabric(xml, fabric, rank, all);
                    xml.append("</gpu></pci>");
                    rank++;
                }
                pci(xml, address(0xc0 + bus), "0x020700");
                xml.append("<nic>");
                for (int port = 1; port <= 2; port++) {
                    int dev = 2 * bus + port - 3;
                    xml.append(String.format(
                            "<net name=\"port%d\" dev=\"%d\" speed=\"100000\" port=\"%d\" guid=\"0x%x\" gdr=\"1\"/>",
                            dev, dev, port, bus));
                }
                xml.append("</nic></pci></pci>");
                bus++;
            }
            xml.append("</cpu>");
        }
        return xml.append("</system>").toString();
    }

    private static void fabric(StringBuilder xml, Fabric fabric, int rank, int all) {
        switch (fabric) {
            case PCI -> {}
            case SWITCH -> xml.append("<nvlink target=\"0000:ff:00.0\" count=\"6\" tclass=\"0x068000\"/>");
            case MESH -> IntStream.range(0, all)
                    .filter(other -> other != rank)
                    .forEach(other -> xml.append(String.format(
                            "<nvlink target=\"%s\" count=\"1\" tclass=\"0x030200\"/>", address(other + 1))));
            case CHIP_TO_CHIP -> xml.append("<c2c bw=\"50000\" count=\"8\"/>");
        }
    }

    private static String address(int bus) {
        return String.format("0000:%02x:00.0", bus);
    }

    private static void pci(StringBuilder xml, String busId, String type) {
        xml.append(
                String.format("<pci busid=\"%s\" class=\"%s\" link_speed=\"16 GT/s\" link_width=\"16\">", busId, type));
    }

    /** Returns the report with channels that visit the ranks in random orders. The seed determines the orders. */
    public static TopologyReport withRandomChannels(TopologyReport report, int channels, boolean networks, long seed) {
        Random random = new Random(seed);
        List<Integer> ranks =
                new ArrayList<>(report.graphs().get("ring").graph().orders().get(0));
        int ports = (int) report.nodes().stream()
                .filter(node -> node.type().equals("NET"))
                .count();
        Map<String, TopologyReport.GraphRow> graphs = new LinkedHashMap<>();
        for (Pattern pattern : List.of(Pattern.RING, Pattern.BALANCED_TREE)) {
            List<List<Integer>> orders = new ArrayList<>();
            List<Rail> nets = new ArrayList<>();
            for (int channel = 0; channel < channels; channel++) {
                Collections.shuffle(ranks, random);
                orders.add(List.copyOf(ranks));
                if (networks) {
                    nets.add(new Rail(random.nextInt(ports), random.nextInt(ports)));
                }
            }
            ChannelGraph graph = new ChannelGraph(pattern, 10, 10, PathType.PHB, PathType.PHB, networks, orders, nets);
            graphs.put(pattern == Pattern.RING ? "ring" : "tree", new TopologyReport.GraphRow(graph, 1.5));
        }
        return new TopologyReport(
                report.source(),
                report.version(),
                report.description(),
                report.nodes(),
                report.paths(),
                graphs,
                report.plan(),
                report.tuning(),
                report.tuningOfThreads(),
                report.sharedGpus(),
                report.notes());
    }
}
