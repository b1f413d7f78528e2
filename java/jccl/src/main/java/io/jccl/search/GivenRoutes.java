package io.jccl.search;

import io.jccl.topology.Node;
import io.jccl.topology.PathType;
import io.jccl.topology.TopologyException;
import io.jccl.topology.XmlElement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Converts a graph of a file into routes over one host, and checks it against that host. */
final class GivenRoutes {

    /**
     * Relative difference below which bandwidths are equal: sums of the same numbers in another order differ by
     * rounding.
     */
    private static final double EQUAL = 1e-9;

    private static final int MAX_CHANNELS = 64;
    private static final int ABSENT = -1;

    private final GraphElement graph;
    private final Pattern pattern;
    private final ChannelSearch host;
    private final List<Node> ranks;
    private final List<Node.Net> nets;
    private final SearchOptions.CrossNic crossNic;

    /** @param patterns the patterns that the graph may have */
    GivenRoutes(XmlElement graph, List<Pattern> patterns, ChannelSearch host, SearchOptions.CrossNic crossNic) {
        this.graph = new GraphElement(graph);
        this.host = host;
        this.ranks = host.ranks();
        this.nets = host.nets();
        this.crossNic = crossNic;
        int number = this.graph.integer("pattern", 0, Integer.MAX_VALUE);
        this.pattern = patterns.stream()
                .filter(one -> GraphFile.NUMBERS.get(one) == number)
                .findFirst()
                .orElseThrow(() -> this.graph.wrong(
                        "pattern",
                        "expected one of "
                                + patterns.stream()
                                        .map(GraphFile.NUMBERS::get)
                                        .sorted()
                                        .toList()));
    }

    /**
     * Returns the channels of the graph. Empty if the graph has none: then the caller searches channels, as NCCL does.
     */
    Optional<GivenChannels> channels() {
        List<XmlElement> channels = graph.element().unknown();
        if (graph.integer("nchannels", 0, MAX_CHANNELS) != channels.size()) {
            throw graph.wrong("nchannels", "expected " + channels.size() + ", the number of its channel elements");
        }
        for (String type : List.of("typeintra", "typeinter")) {
            graph.element().text(type).ifPresent(name -> requireType(type, name));
        }
        List<Route> routes = new ArrayList<>();
        for (XmlElement channel : channels) {
            routes.add(route(channel));
        }
        return routes.isEmpty() ? Optional.empty() : Optional.of(bounded(host.given(pattern, routes)));
    }

    private void requireType(String attribute, String name) {
        if (Arrays.stream(PathType.values()).noneMatch(type -> type.name().equals(name))) {
            throw graph.wrong(attribute, "expected one of " + Arrays.toString(PathType.values()));
        }
    }

    private Route route(XmlElement channel) {
        new GraphElement(channel).requireTag("channel");
        List<Integer> order = new ArrayList<>();
        List<Integer> devices = new ArrayList<>();
        for (XmlElement child : channel.unknown()) {
            GraphElement element = new GraphElement(child);
            element.requireTag("net", "gpu");
            int dev = element.integer("dev", 0, Integer.MAX_VALUE);
            if (child.tag().equals("gpu")) {
                int place = place(element, dev);
                if (order.contains(place)) {
                    throw element.wrong("dev", "the channel visits it already; expected each GPU once");
                }
                if (!order.isEmpty() && !host.joined(order.get(order.size() - 1), place)) {
                    throw element.wrong("dev", "no path joins it and the GPU before it; expected another order");
                }
                order.add(place);
            } else if (!nets.isEmpty()) {
                devices.add(net(element, dev));
            }
        }
        if (order.size() != ranks.size()) {
            throw new TopologyException(channel.where() + ": visits " + order.size() + " GPUs; expected all "
                    + ranks.size() + " of the ranks here, dev=" + devs());
        }
        if (!nets.isEmpty() && devices.size() != 2) {
            throw new TopologyException(
                    channel.where() + ": has " + devices.size()
                            + " net elements that are used here; expected 2, by which it comes from other hosts and leaves to them");
        }
        int[] places = order.stream().mapToInt(Integer::intValue).toArray();
        int last = places[places.length - 1];
        if (nets.isEmpty()) {
            requireEnds(channel, places.length == 1 || pattern != Pattern.RING || host.joined(last, places[0]));
            return new Route(places, ABSENT, ABSENT);
        }
        int out = pattern == Pattern.RING ? last : places[Math.min(1, last)];
        requireEnds(channel, host.reaches(devices.get(0), places[0]) && host.reaches(devices.get(1), out));
        if (pattern == Pattern.RING && !devices.get(0).equals(devices.get(1))) {
            requireMayCross(channel);
        }
        return new Route(places, devices.get(0), devices.get(1));
    }

    private int place(GraphElement gpu, int dev) {
        for (int place = 0; place < ranks.size(); place++) {
            if (ranks.get(place) instanceof Node.Gpu one && one.dev() == dev) {
                return place;
            }
        }
        throw gpu.wrong("dev", "no rank of this communicator has this GPU here; expected one of " + devs());
    }

    private List<Integer> devs() {
        return ranks.stream()
                .map(node -> node instanceof Node.Gpu gpu ? gpu.dev() : ABSENT)
                .toList();
    }

    private int net(GraphElement net, int dev) {
        for (int place = 0; place < nets.size(); place++) {
            if (nets.get(place).dev() == dev) {
                return place;
            }
        }
        throw net.wrong(
                "dev",
                "no network device that channels may use has this number; expected one of "
                        + nets.stream().map(Node.Net::dev).toList());
    }

    private static void requireEnds(XmlElement channel, boolean joined) {
        if (!joined) {
            throw new TopologyException(channel.where()
                    + ": no path leads on from one of its ends, to its net or its other end; expected another order");
        }
    }

    private void requireMayCross(XmlElement channel) {
        if (graph.integer("crossnic", 0, 2) == 0) {
            throw new TopologyException(channel.where() + ": leaves by another net than it comes in by; expected"
                    + " crossnic=\"1\" on its graph");
        }
        if (crossNic == SearchOptions.CrossNic.NEVER) {
            throw new TopologyException(channel.where() + ": leaves by another net than it comes in by;"
                    + " JCCL_CROSS_NIC=0 expects the same");
        }
    }

    /** Returns the channels with the bandwidths of the file, limited to those that the host carries. */
    private GivenChannels bounded(ChannelGraph carried) {
        double intra = graph.gbps("speedintra");
        double inter = nets.isEmpty() ? intra : Math.min(intra, graph.gbps("speedinter"));
        ChannelGraph bounded = new ChannelGraph(
                pattern,
                lower(intra, carried.bwIntra()),
                lower(inter, carried.bwInter()),
                carried.typeIntra(),
                carried.typeInter(),
                carried.crossNic(),
                carried.orders(),
                carried.rails());
        boolean claimsMore = inter > carried.bwInter() * (1 + EQUAL);
        return new GivenChannels(
                bounded,
                claimsMore
                        ? Optional.of(graph.element().where() + ": speeds of " + inter
                                + " GB/s; the links of this host carry " + carried.bwInter() + " on each of its "
                                + carried.channels() + " channels, which counts")
                        : Optional.empty());
    }

    private static double lower(double claimed, double carried) {
        return claimed > carried * (1 + EQUAL) ? carried : claimed;
    }
}
