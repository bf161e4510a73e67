// RUN: ingot-opt %s --rt-schedule -split-input-file | FileCheck %s

// A stage for every launch becomes as few as memory allows. Before the plan buffers are their own memory.
// CHECK-LABEL: rt.program @symbolic
// CHECK: rt.stage 0 {
// CHECK-NEXT: rt.launch @a(%[[X:.*]]) weights
// CHECK-NEXT: rt.launch @b(%[[Y:.*]]) weights
// CHECK-NEXT: rt.tap embed 0 %[[X]] {{.*}}
// CHECK-NEXT: }
// A replicated launch goes with its consumer, in their order.
// CHECK-NEXT: rt.stage 1 {
// CHECK-NEXT: rt.launch @n(%[[X]], %[[P:.*]]) weights [] outs 1 replicated
// CHECK-NEXT: rt.launch @c(%[[P]], %[[Z:.*]]) weights
// CHECK-NEXT: }
// CHECK-NEXT: rt.stage 2 {
// CHECK-NEXT: rt.launch @d(%[[Y]], %[[Z]], %{{.*}}) weights
// CHECK-NEXT: }
// CHECK-NOT: rt.stage
rt.program @symbolic attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  %x = rt.buffer arena 256 at -1 "x"
  %y = rt.buffer arena 256 at -1 "y"
  %p = rt.buffer private 256 at -1 "p"
  %z = rt.buffer arena 256 at -1 "z"
  %l = rt.buffer arena 256 at -1 "l"
  rt.stage 0 {
    rt.launch @a(%x) weights [] outs 1
    rt.tap embed 0 %x {width = 64 : i64, stride = 64 : i64}
  }
  rt.stage 1 {
    rt.launch @b(%y) weights [] outs 1
  }
  rt.stage 2 {
    rt.launch @n(%x, %p) weights [] outs 1 replicated
  }
  rt.stage 3 {
    rt.launch @c(%p, %z) weights [] outs 1
  }
  rt.stage 4 {
    rt.launch @d(%y, %z, %l) weights [] outs 1
  }
  rt.logits %l {stride = 64 : i64}
}

// -----
// After it bytes count: y lies where x lies, so b waits for the reader of x. One KV layer orders its launches.
// CHECK-LABEL: rt.program @planned
// CHECK: rt.stage 0 {
// CHECK-NEXT: rt.launch @a
// CHECK: rt.stage 1 {
// CHECK-NEXT: rt.launch @c(%{{.*}}, %{{.*}}) {{.*}} {kv_layer = 0 : i64, kv_write}
// CHECK: rt.stage 2 {
// CHECK-NEXT: rt.launch @b
// CHECK-NEXT: rt.launch @d() weights [] outs 0 {kv_layer = 0 : i64}
// CHECK: rt.stage 3 {
// CHECK-NEXT: rt.launch @e
// CHECK-NOT: rt.stage
rt.program @planned attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %y = rt.buffer arena 256 at 0 "y"
  %z = rt.buffer arena 256 at 256 "z"
  %l = rt.buffer arena 256 at 512 "l"
  rt.stage 0 {
    rt.launch @a(%x) weights [] outs 1
  }
  rt.stage 1 {
    rt.launch @c(%x, %z) weights [] outs 1 {kv_layer = 0 : i64, kv_write}
  }
  rt.stage 2 {
    rt.launch @b(%y) weights [] outs 1
  }
  rt.stage 3 {
    rt.launch @d() weights [] outs 0 {kv_layer = 0 : i64}
  }
  rt.stage 4 {
    rt.launch @e(%y, %z, %l) weights [] outs 1
  }
  rt.logits %l {stride = 64 : i64}
}

// -----
// A tap holds its bytes until its stage is over: the writer that would be free to come earlier stays behind it.
// CHECK-LABEL: rt.program @tapped
// CHECK: rt.stage 0 {
// CHECK-NEXT: rt.launch @a
// CHECK-NEXT: rt.tap embed 0
// CHECK: rt.stage 1 {
// CHECK-NEXT: rt.launch @b
rt.program @tapped attributes {m_class = 1 : i64, min_rows = 1 : i64, max_rows = 1 : i64, alloc_rows = 1 : i64, max_out = 1 : i64} {
  %x = rt.buffer arena 256 at 0 "x"
  %y = rt.buffer arena 256 at 0 "y"
  rt.stage 0 {
    rt.launch @a(%x) weights [] outs 1
    rt.tap embed 0 %x {width = 64 : i64, stride = 64 : i64}
  }
  rt.stage 1 {
    rt.launch @b(%y) weights [] outs 1
  }
  rt.logits %y {stride = 64 : i64}
}
