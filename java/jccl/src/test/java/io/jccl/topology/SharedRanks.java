package io.jccl.topology;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Places several ranks on the GPUs of the tests' hosts. */
public final class SharedRanks {

    private static final Pattern GPU = Pattern.compile("<gpu ([^>]*?)rank=['\"](\\d+)['\"]([^>]*?)(/?)>");

    private SharedRanks() {}

    /**
     * Returns a host with other ranks on its GPUs, which are given in the order in which the description names the
     * GPUs.
     */
    public static String on(String xml, List<List<Integer>> ranksOfGpus) {
        Matcher gpu = GPU.matcher(xml);
        StringBuilder shared = new StringBuilder();
        for (int index = 0; gpu.find(); index++) {
            List<Integer> ranks = ranksOfGpus.get(index);
            StringBuilder elements = new StringBuilder();
            for (int i = 1; i < ranks.size(); i++) {
                elements.append(element(gpu, ranks.get(i))).append("/>");
            }
            elements.append(element(gpu, ranks.get(0))).append(gpu.group(4)).append('>');
            gpu.appendReplacement(shared, Matcher.quoteReplacement(elements.toString()));
        }
        return gpu.appendTail(shared).toString();
    }

    private static String element(Matcher gpu, int rank) {
        return "<gpu " + gpu.group(1) + "rank='" + rank + "'" + gpu.group(3);
    }

    /** Returns ascending ranks from 0, with the given number on each GPU in turn. */
    public static List<List<Integer>> ascending(int... counts) {
        List<List<Integer>> ranks = new ArrayList<>();
        int next = 0;
        for (int count : counts) {
            List<Integer> here = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                here.add(next++);
            }
            ranks.add(here);
        }
        return ranks;
    }

    /** Draws one to {@code max} ranks for each GPU of a host, in any order. Equal seeds give equal ranks. */
    public static List<List<Integer>> random(String xml, int max, long seed) {
        Random random = new Random(seed);
        List<Integer> counts = new ArrayList<>();
        for (Matcher gpu = GPU.matcher(xml); gpu.find(); ) {
            counts.add(1 + random.nextInt(max));
        }
        List<List<Integer>> places =
                ascending(counts.stream().mapToInt(Integer::intValue).toArray());
        List<Integer> numbers = new ArrayList<>();
        places.forEach(numbers::addAll);
        Collections.shuffle(numbers, random);
        return places.stream()
                .map(ranks -> ranks.stream().map(numbers::get).toList())
                .toList();
    }
}
