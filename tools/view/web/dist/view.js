"use strict";
(() => {
  // node_modules/preact/dist/preact.module.js
  var n;
  var l;
  var u;
  var t;
  var i;
  var r;
  var o;
  var e;
  var f;
  var c;
  var s;
  var a;
  var h;
  var p = {};
  var v = [];
  var y = /acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i;
  var w = Array.isArray;
  function d(n2, l3) {
    for (var u4 in l3)
      n2[u4] = l3[u4];
    return n2;
  }
  function g(n2) {
    n2 && n2.parentNode && n2.parentNode.removeChild(n2);
  }
  function _(l3, u4, t3) {
    var i4, r3, o3, e3 = {};
    for (o3 in u4)
      "key" == o3 ? i4 = u4[o3] : "ref" == o3 ? r3 = u4[o3] : e3[o3] = u4[o3];
    if (arguments.length > 2 && (e3.children = arguments.length > 3 ? n.call(arguments, 2) : t3), "function" == typeof l3 && null != l3.defaultProps)
      for (o3 in l3.defaultProps)
        void 0 === e3[o3] && (e3[o3] = l3.defaultProps[o3]);
    return m(l3, e3, i4, r3, null);
  }
  function m(n2, t3, i4, r3, o3) {
    var e3 = { type: n2, props: t3, key: i4, ref: r3, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: void 0, __v: null == o3 ? ++u : o3, __i: -1, __u: 0 };
    return null == o3 && null != l.vnode && l.vnode(e3), e3;
  }
  function k(n2) {
    return n2.children;
  }
  function x(n2, l3) {
    this.props = n2, this.context = l3;
  }
  function S(n2, l3) {
    if (null == l3)
      return n2.__ ? S(n2.__, n2.__i + 1) : null;
    for (var u4; l3 < n2.__k.length; l3++)
      if (null != (u4 = n2.__k[l3]) && null != u4.__e)
        return u4.__e;
    return "function" == typeof n2.type ? S(n2) : null;
  }
  function C(n2) {
    var l3, u4;
    if (null != (n2 = n2.__) && null != n2.__c) {
      for (n2.__e = n2.__c.base = null, l3 = 0; l3 < n2.__k.length; l3++)
        if (null != (u4 = n2.__k[l3]) && null != u4.__e) {
          n2.__e = n2.__c.base = u4.__e;
          break;
        }
      return C(n2);
    }
  }
  function M(n2) {
    (!n2.__d && (n2.__d = true) && i.push(n2) && !$.__r++ || r != l.debounceRendering) && ((r = l.debounceRendering) || o)($);
  }
  function $() {
    for (var n2, u4, t3, r3, o3, f4, c3, s3 = 1; i.length; )
      i.length > s3 && i.sort(e), n2 = i.shift(), s3 = i.length, n2.__d && (t3 = void 0, r3 = void 0, o3 = (r3 = (u4 = n2).__v).__e, f4 = [], c3 = [], u4.__P && ((t3 = d({}, r3)).__v = r3.__v + 1, l.vnode && l.vnode(t3), O(u4.__P, t3, r3, u4.__n, u4.__P.namespaceURI, 32 & r3.__u ? [o3] : null, f4, null == o3 ? S(r3) : o3, !!(32 & r3.__u), c3), t3.__v = r3.__v, t3.__.__k[t3.__i] = t3, N(f4, t3, c3), r3.__e = r3.__ = null, t3.__e != o3 && C(t3)));
    $.__r = 0;
  }
  function I(n2, l3, u4, t3, i4, r3, o3, e3, f4, c3, s3) {
    var a3, h3, y3, w3, d3, g2, _2, m3 = t3 && t3.__k || v, b = l3.length;
    for (f4 = P(u4, l3, m3, f4, b), a3 = 0; a3 < b; a3++)
      null != (y3 = u4.__k[a3]) && (h3 = -1 == y3.__i ? p : m3[y3.__i] || p, y3.__i = a3, g2 = O(n2, y3, h3, i4, r3, o3, e3, f4, c3, s3), w3 = y3.__e, y3.ref && h3.ref != y3.ref && (h3.ref && B(h3.ref, null, y3), s3.push(y3.ref, y3.__c || w3, y3)), null == d3 && null != w3 && (d3 = w3), (_2 = !!(4 & y3.__u)) || h3.__k === y3.__k ? f4 = A(y3, f4, n2, _2) : "function" == typeof y3.type && void 0 !== g2 ? f4 = g2 : w3 && (f4 = w3.nextSibling), y3.__u &= -7);
    return u4.__e = d3, f4;
  }
  function P(n2, l3, u4, t3, i4) {
    var r3, o3, e3, f4, c3, s3 = u4.length, a3 = s3, h3 = 0;
    for (n2.__k = new Array(i4), r3 = 0; r3 < i4; r3++)
      null != (o3 = l3[r3]) && "boolean" != typeof o3 && "function" != typeof o3 ? (f4 = r3 + h3, (o3 = n2.__k[r3] = "string" == typeof o3 || "number" == typeof o3 || "bigint" == typeof o3 || o3.constructor == String ? m(null, o3, null, null, null) : w(o3) ? m(k, { children: o3 }, null, null, null) : null == o3.constructor && o3.__b > 0 ? m(o3.type, o3.props, o3.key, o3.ref ? o3.ref : null, o3.__v) : o3).__ = n2, o3.__b = n2.__b + 1, e3 = null, -1 != (c3 = o3.__i = L(o3, u4, f4, a3)) && (a3--, (e3 = u4[c3]) && (e3.__u |= 2)), null == e3 || null == e3.__v ? (-1 == c3 && (i4 > s3 ? h3-- : i4 < s3 && h3++), "function" != typeof o3.type && (o3.__u |= 4)) : c3 != f4 && (c3 == f4 - 1 ? h3-- : c3 == f4 + 1 ? h3++ : (c3 > f4 ? h3-- : h3++, o3.__u |= 4))) : n2.__k[r3] = null;
    if (a3)
      for (r3 = 0; r3 < s3; r3++)
        null != (e3 = u4[r3]) && 0 == (2 & e3.__u) && (e3.__e == t3 && (t3 = S(e3)), D(e3, e3));
    return t3;
  }
  function A(n2, l3, u4, t3) {
    var i4, r3;
    if ("function" == typeof n2.type) {
      for (i4 = n2.__k, r3 = 0; i4 && r3 < i4.length; r3++)
        i4[r3] && (i4[r3].__ = n2, l3 = A(i4[r3], l3, u4, t3));
      return l3;
    }
    n2.__e != l3 && (t3 && (l3 && n2.type && !l3.parentNode && (l3 = S(n2)), u4.insertBefore(n2.__e, l3 || null)), l3 = n2.__e);
    do {
      l3 = l3 && l3.nextSibling;
    } while (null != l3 && 8 == l3.nodeType);
    return l3;
  }
  function L(n2, l3, u4, t3) {
    var i4, r3, o3, e3 = n2.key, f4 = n2.type, c3 = l3[u4], s3 = null != c3 && 0 == (2 & c3.__u);
    if (null === c3 && null == n2.key || s3 && e3 == c3.key && f4 == c3.type)
      return u4;
    if (t3 > (s3 ? 1 : 0)) {
      for (i4 = u4 - 1, r3 = u4 + 1; i4 >= 0 || r3 < l3.length; )
        if (null != (c3 = l3[o3 = i4 >= 0 ? i4-- : r3++]) && 0 == (2 & c3.__u) && e3 == c3.key && f4 == c3.type)
          return o3;
    }
    return -1;
  }
  function T(n2, l3, u4) {
    "-" == l3[0] ? n2.setProperty(l3, null == u4 ? "" : u4) : n2[l3] = null == u4 ? "" : "number" != typeof u4 || y.test(l3) ? u4 : u4 + "px";
  }
  function j(n2, l3, u4, t3, i4) {
    var r3, o3;
    n:
      if ("style" == l3)
        if ("string" == typeof u4)
          n2.style.cssText = u4;
        else {
          if ("string" == typeof t3 && (n2.style.cssText = t3 = ""), t3)
            for (l3 in t3)
              u4 && l3 in u4 || T(n2.style, l3, "");
          if (u4)
            for (l3 in u4)
              t3 && u4[l3] == t3[l3] || T(n2.style, l3, u4[l3]);
        }
      else if ("o" == l3[0] && "n" == l3[1])
        r3 = l3 != (l3 = l3.replace(f, "$1")), o3 = l3.toLowerCase(), l3 = o3 in n2 || "onFocusOut" == l3 || "onFocusIn" == l3 ? o3.slice(2) : l3.slice(2), n2.l || (n2.l = {}), n2.l[l3 + r3] = u4, u4 ? t3 ? u4.u = t3.u : (u4.u = c, n2.addEventListener(l3, r3 ? a : s, r3)) : n2.removeEventListener(l3, r3 ? a : s, r3);
      else {
        if ("http://www.w3.org/2000/svg" == i4)
          l3 = l3.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
        else if ("width" != l3 && "height" != l3 && "href" != l3 && "list" != l3 && "form" != l3 && "tabIndex" != l3 && "download" != l3 && "rowSpan" != l3 && "colSpan" != l3 && "role" != l3 && "popover" != l3 && l3 in n2)
          try {
            n2[l3] = null == u4 ? "" : u4;
            break n;
          } catch (n3) {
          }
        "function" == typeof u4 || (null == u4 || false === u4 && "-" != l3[4] ? n2.removeAttribute(l3) : n2.setAttribute(l3, "popover" == l3 && 1 == u4 ? "" : u4));
      }
  }
  function F(n2) {
    return function(u4) {
      if (this.l) {
        var t3 = this.l[u4.type + n2];
        if (null == u4.t)
          u4.t = c++;
        else if (u4.t < t3.u)
          return;
        return t3(l.event ? l.event(u4) : u4);
      }
    };
  }
  function O(n2, u4, t3, i4, r3, o3, e3, f4, c3, s3) {
    var a3, h3, p3, v3, y3, _2, m3, b, S2, C3, M2, $2, P2, A3, H, L2, T3, j3 = u4.type;
    if (null != u4.constructor)
      return null;
    128 & t3.__u && (c3 = !!(32 & t3.__u), o3 = [f4 = u4.__e = t3.__e]), (a3 = l.__b) && a3(u4);
    n:
      if ("function" == typeof j3)
        try {
          if (b = u4.props, S2 = "prototype" in j3 && j3.prototype.render, C3 = (a3 = j3.contextType) && i4[a3.__c], M2 = a3 ? C3 ? C3.props.value : a3.__ : i4, t3.__c ? m3 = (h3 = u4.__c = t3.__c).__ = h3.__E : (S2 ? u4.__c = h3 = new j3(b, M2) : (u4.__c = h3 = new x(b, M2), h3.constructor = j3, h3.render = E), C3 && C3.sub(h3), h3.props = b, h3.state || (h3.state = {}), h3.context = M2, h3.__n = i4, p3 = h3.__d = true, h3.__h = [], h3._sb = []), S2 && null == h3.__s && (h3.__s = h3.state), S2 && null != j3.getDerivedStateFromProps && (h3.__s == h3.state && (h3.__s = d({}, h3.__s)), d(h3.__s, j3.getDerivedStateFromProps(b, h3.__s))), v3 = h3.props, y3 = h3.state, h3.__v = u4, p3)
            S2 && null == j3.getDerivedStateFromProps && null != h3.componentWillMount && h3.componentWillMount(), S2 && null != h3.componentDidMount && h3.__h.push(h3.componentDidMount);
          else {
            if (S2 && null == j3.getDerivedStateFromProps && b !== v3 && null != h3.componentWillReceiveProps && h3.componentWillReceiveProps(b, M2), !h3.__e && null != h3.shouldComponentUpdate && false === h3.shouldComponentUpdate(b, h3.__s, M2) || u4.__v == t3.__v) {
              for (u4.__v != t3.__v && (h3.props = b, h3.state = h3.__s, h3.__d = false), u4.__e = t3.__e, u4.__k = t3.__k, u4.__k.some(function(n3) {
                n3 && (n3.__ = u4);
              }), $2 = 0; $2 < h3._sb.length; $2++)
                h3.__h.push(h3._sb[$2]);
              h3._sb = [], h3.__h.length && e3.push(h3);
              break n;
            }
            null != h3.componentWillUpdate && h3.componentWillUpdate(b, h3.__s, M2), S2 && null != h3.componentDidUpdate && h3.__h.push(function() {
              h3.componentDidUpdate(v3, y3, _2);
            });
          }
          if (h3.context = M2, h3.props = b, h3.__P = n2, h3.__e = false, P2 = l.__r, A3 = 0, S2) {
            for (h3.state = h3.__s, h3.__d = false, P2 && P2(u4), a3 = h3.render(h3.props, h3.state, h3.context), H = 0; H < h3._sb.length; H++)
              h3.__h.push(h3._sb[H]);
            h3._sb = [];
          } else
            do {
              h3.__d = false, P2 && P2(u4), a3 = h3.render(h3.props, h3.state, h3.context), h3.state = h3.__s;
            } while (h3.__d && ++A3 < 25);
          h3.state = h3.__s, null != h3.getChildContext && (i4 = d(d({}, i4), h3.getChildContext())), S2 && !p3 && null != h3.getSnapshotBeforeUpdate && (_2 = h3.getSnapshotBeforeUpdate(v3, y3)), L2 = a3, null != a3 && a3.type === k && null == a3.key && (L2 = V(a3.props.children)), f4 = I(n2, w(L2) ? L2 : [L2], u4, t3, i4, r3, o3, e3, f4, c3, s3), h3.base = u4.__e, u4.__u &= -161, h3.__h.length && e3.push(h3), m3 && (h3.__E = h3.__ = null);
        } catch (n3) {
          if (u4.__v = null, c3 || null != o3)
            if (n3.then) {
              for (u4.__u |= c3 ? 160 : 128; f4 && 8 == f4.nodeType && f4.nextSibling; )
                f4 = f4.nextSibling;
              o3[o3.indexOf(f4)] = null, u4.__e = f4;
            } else {
              for (T3 = o3.length; T3--; )
                g(o3[T3]);
              z(u4);
            }
          else
            u4.__e = t3.__e, u4.__k = t3.__k, n3.then || z(u4);
          l.__e(n3, u4, t3);
        }
      else
        null == o3 && u4.__v == t3.__v ? (u4.__k = t3.__k, u4.__e = t3.__e) : f4 = u4.__e = q(t3.__e, u4, t3, i4, r3, o3, e3, c3, s3);
    return (a3 = l.diffed) && a3(u4), 128 & u4.__u ? void 0 : f4;
  }
  function z(n2) {
    n2 && n2.__c && (n2.__c.__e = true), n2 && n2.__k && n2.__k.forEach(z);
  }
  function N(n2, u4, t3) {
    for (var i4 = 0; i4 < t3.length; i4++)
      B(t3[i4], t3[++i4], t3[++i4]);
    l.__c && l.__c(u4, n2), n2.some(function(u5) {
      try {
        n2 = u5.__h, u5.__h = [], n2.some(function(n3) {
          n3.call(u5);
        });
      } catch (n3) {
        l.__e(n3, u5.__v);
      }
    });
  }
  function V(n2) {
    return "object" != typeof n2 || null == n2 || n2.__b && n2.__b > 0 ? n2 : w(n2) ? n2.map(V) : d({}, n2);
  }
  function q(u4, t3, i4, r3, o3, e3, f4, c3, s3) {
    var a3, h3, v3, y3, d3, _2, m3, b = i4.props, k3 = t3.props, x2 = t3.type;
    if ("svg" == x2 ? o3 = "http://www.w3.org/2000/svg" : "math" == x2 ? o3 = "http://www.w3.org/1998/Math/MathML" : o3 || (o3 = "http://www.w3.org/1999/xhtml"), null != e3) {
      for (a3 = 0; a3 < e3.length; a3++)
        if ((d3 = e3[a3]) && "setAttribute" in d3 == !!x2 && (x2 ? d3.localName == x2 : 3 == d3.nodeType)) {
          u4 = d3, e3[a3] = null;
          break;
        }
    }
    if (null == u4) {
      if (null == x2)
        return document.createTextNode(k3);
      u4 = document.createElementNS(o3, x2, k3.is && k3), c3 && (l.__m && l.__m(t3, e3), c3 = false), e3 = null;
    }
    if (null == x2)
      b === k3 || c3 && u4.data == k3 || (u4.data = k3);
    else {
      if (e3 = e3 && n.call(u4.childNodes), b = i4.props || p, !c3 && null != e3)
        for (b = {}, a3 = 0; a3 < u4.attributes.length; a3++)
          b[(d3 = u4.attributes[a3]).name] = d3.value;
      for (a3 in b)
        if (d3 = b[a3], "children" == a3)
          ;
        else if ("dangerouslySetInnerHTML" == a3)
          v3 = d3;
        else if (!(a3 in k3)) {
          if ("value" == a3 && "defaultValue" in k3 || "checked" == a3 && "defaultChecked" in k3)
            continue;
          j(u4, a3, null, d3, o3);
        }
      for (a3 in k3)
        d3 = k3[a3], "children" == a3 ? y3 = d3 : "dangerouslySetInnerHTML" == a3 ? h3 = d3 : "value" == a3 ? _2 = d3 : "checked" == a3 ? m3 = d3 : c3 && "function" != typeof d3 || b[a3] === d3 || j(u4, a3, d3, b[a3], o3);
      if (h3)
        c3 || v3 && (h3.__html == v3.__html || h3.__html == u4.innerHTML) || (u4.innerHTML = h3.__html), t3.__k = [];
      else if (v3 && (u4.innerHTML = ""), I("template" == t3.type ? u4.content : u4, w(y3) ? y3 : [y3], t3, i4, r3, "foreignObject" == x2 ? "http://www.w3.org/1999/xhtml" : o3, e3, f4, e3 ? e3[0] : i4.__k && S(i4, 0), c3, s3), null != e3)
        for (a3 = e3.length; a3--; )
          g(e3[a3]);
      c3 || (a3 = "value", "progress" == x2 && null == _2 ? u4.removeAttribute("value") : null != _2 && (_2 !== u4[a3] || "progress" == x2 && !_2 || "option" == x2 && _2 != b[a3]) && j(u4, a3, _2, b[a3], o3), a3 = "checked", null != m3 && m3 != u4[a3] && j(u4, a3, m3, b[a3], o3));
    }
    return u4;
  }
  function B(n2, u4, t3) {
    try {
      if ("function" == typeof n2) {
        var i4 = "function" == typeof n2.__u;
        i4 && n2.__u(), i4 && null == u4 || (n2.__u = n2(u4));
      } else
        n2.current = u4;
    } catch (n3) {
      l.__e(n3, t3);
    }
  }
  function D(n2, u4, t3) {
    var i4, r3;
    if (l.unmount && l.unmount(n2), (i4 = n2.ref) && (i4.current && i4.current != n2.__e || B(i4, null, u4)), null != (i4 = n2.__c)) {
      if (i4.componentWillUnmount)
        try {
          i4.componentWillUnmount();
        } catch (n3) {
          l.__e(n3, u4);
        }
      i4.base = i4.__P = null;
    }
    if (i4 = n2.__k)
      for (r3 = 0; r3 < i4.length; r3++)
        i4[r3] && D(i4[r3], u4, t3 || "function" != typeof n2.type);
    t3 || g(n2.__e), n2.__c = n2.__ = n2.__e = void 0;
  }
  function E(n2, l3, u4) {
    return this.constructor(n2, u4);
  }
  function G(u4, t3, i4) {
    var r3, o3, e3, f4;
    t3 == document && (t3 = document.documentElement), l.__ && l.__(u4, t3), o3 = (r3 = "function" == typeof i4) ? null : i4 && i4.__k || t3.__k, e3 = [], f4 = [], O(t3, u4 = (!r3 && i4 || t3).__k = _(k, null, [u4]), o3 || p, p, t3.namespaceURI, !r3 && i4 ? [i4] : o3 ? null : t3.firstChild ? n.call(t3.childNodes) : null, e3, !r3 && i4 ? i4 : o3 ? o3.__e : t3.firstChild, r3, f4), N(e3, u4, f4);
  }
  n = v.slice, l = { __e: function(n2, l3, u4, t3) {
    for (var i4, r3, o3; l3 = l3.__; )
      if ((i4 = l3.__c) && !i4.__)
        try {
          if ((r3 = i4.constructor) && null != r3.getDerivedStateFromError && (i4.setState(r3.getDerivedStateFromError(n2)), o3 = i4.__d), null != i4.componentDidCatch && (i4.componentDidCatch(n2, t3 || {}), o3 = i4.__d), o3)
            return i4.__E = i4;
        } catch (l4) {
          n2 = l4;
        }
    throw n2;
  } }, u = 0, t = function(n2) {
    return null != n2 && null == n2.constructor;
  }, x.prototype.setState = function(n2, l3) {
    var u4;
    u4 = null != this.__s && this.__s != this.state ? this.__s : this.__s = d({}, this.state), "function" == typeof n2 && (n2 = n2(d({}, u4), this.props)), n2 && d(u4, n2), null != n2 && this.__v && (l3 && this._sb.push(l3), M(this));
  }, x.prototype.forceUpdate = function(n2) {
    this.__v && (this.__e = true, n2 && this.__h.push(n2), M(this));
  }, x.prototype.render = k, i = [], o = "function" == typeof Promise ? Promise.prototype.then.bind(Promise.resolve()) : setTimeout, e = function(n2, l3) {
    return n2.__v.__b - l3.__v.__b;
  }, $.__r = 0, f = /(PointerCapture)$|Capture$/i, c = 0, s = F(false), a = F(true), h = 0;

  // node_modules/preact/hooks/dist/hooks.module.js
  var t2;
  var r2;
  var u2;
  var i2;
  var o2 = 0;
  var f2 = [];
  var c2 = l;
  var e2 = c2.__b;
  var a2 = c2.__r;
  var v2 = c2.diffed;
  var l2 = c2.__c;
  var m2 = c2.unmount;
  var s2 = c2.__;
  function p2(n2, t3) {
    c2.__h && c2.__h(r2, n2, o2 || t3), o2 = 0;
    var u4 = r2.__H || (r2.__H = { __: [], __h: [] });
    return n2 >= u4.__.length && u4.__.push({}), u4.__[n2];
  }
  function d2(n2) {
    return o2 = 1, h2(D2, n2);
  }
  function h2(n2, u4, i4) {
    var o3 = p2(t2++, 2);
    if (o3.t = n2, !o3.__c && (o3.__ = [i4 ? i4(u4) : D2(void 0, u4), function(n3) {
      var t3 = o3.__N ? o3.__N[0] : o3.__[0], r3 = o3.t(t3, n3);
      t3 !== r3 && (o3.__N = [r3, o3.__[1]], o3.__c.setState({}));
    }], o3.__c = r2, !r2.__f)) {
      var f4 = function(n3, t3, r3) {
        if (!o3.__c.__H)
          return true;
        var u5 = o3.__c.__H.__.filter(function(n4) {
          return !!n4.__c;
        });
        if (u5.every(function(n4) {
          return !n4.__N;
        }))
          return !c3 || c3.call(this, n3, t3, r3);
        var i5 = o3.__c.props !== n3;
        return u5.forEach(function(n4) {
          if (n4.__N) {
            var t4 = n4.__[0];
            n4.__ = n4.__N, n4.__N = void 0, t4 !== n4.__[0] && (i5 = true);
          }
        }), c3 && c3.call(this, n3, t3, r3) || i5;
      };
      r2.__f = true;
      var c3 = r2.shouldComponentUpdate, e3 = r2.componentWillUpdate;
      r2.componentWillUpdate = function(n3, t3, r3) {
        if (this.__e) {
          var u5 = c3;
          c3 = void 0, f4(n3, t3, r3), c3 = u5;
        }
        e3 && e3.call(this, n3, t3, r3);
      }, r2.shouldComponentUpdate = f4;
    }
    return o3.__N || o3.__;
  }
  function y2(n2, u4) {
    var i4 = p2(t2++, 3);
    !c2.__s && C2(i4.__H, u4) && (i4.__ = n2, i4.u = u4, r2.__H.__h.push(i4));
  }
  function A2(n2) {
    return o2 = 5, T2(function() {
      return { current: n2 };
    }, []);
  }
  function T2(n2, r3) {
    var u4 = p2(t2++, 7);
    return C2(u4.__H, r3) && (u4.__ = n2(), u4.__H = r3, u4.__h = n2), u4.__;
  }
  function j2() {
    for (var n2; n2 = f2.shift(); )
      if (n2.__P && n2.__H)
        try {
          n2.__H.__h.forEach(z2), n2.__H.__h.forEach(B2), n2.__H.__h = [];
        } catch (t3) {
          n2.__H.__h = [], c2.__e(t3, n2.__v);
        }
  }
  c2.__b = function(n2) {
    r2 = null, e2 && e2(n2);
  }, c2.__ = function(n2, t3) {
    n2 && t3.__k && t3.__k.__m && (n2.__m = t3.__k.__m), s2 && s2(n2, t3);
  }, c2.__r = function(n2) {
    a2 && a2(n2), t2 = 0;
    var i4 = (r2 = n2.__c).__H;
    i4 && (u2 === r2 ? (i4.__h = [], r2.__h = [], i4.__.forEach(function(n3) {
      n3.__N && (n3.__ = n3.__N), n3.u = n3.__N = void 0;
    })) : (i4.__h.forEach(z2), i4.__h.forEach(B2), i4.__h = [], t2 = 0)), u2 = r2;
  }, c2.diffed = function(n2) {
    v2 && v2(n2);
    var t3 = n2.__c;
    t3 && t3.__H && (t3.__H.__h.length && (1 !== f2.push(t3) && i2 === c2.requestAnimationFrame || ((i2 = c2.requestAnimationFrame) || w2)(j2)), t3.__H.__.forEach(function(n3) {
      n3.u && (n3.__H = n3.u), n3.u = void 0;
    })), u2 = r2 = null;
  }, c2.__c = function(n2, t3) {
    t3.some(function(n3) {
      try {
        n3.__h.forEach(z2), n3.__h = n3.__h.filter(function(n4) {
          return !n4.__ || B2(n4);
        });
      } catch (r3) {
        t3.some(function(n4) {
          n4.__h && (n4.__h = []);
        }), t3 = [], c2.__e(r3, n3.__v);
      }
    }), l2 && l2(n2, t3);
  }, c2.unmount = function(n2) {
    m2 && m2(n2);
    var t3, r3 = n2.__c;
    r3 && r3.__H && (r3.__H.__.forEach(function(n3) {
      try {
        z2(n3);
      } catch (n4) {
        t3 = n4;
      }
    }), r3.__H = void 0, t3 && c2.__e(t3, r3.__v));
  };
  var k2 = "function" == typeof requestAnimationFrame;
  function w2(n2) {
    var t3, r3 = function() {
      clearTimeout(u4), k2 && cancelAnimationFrame(t3), setTimeout(n2);
    }, u4 = setTimeout(r3, 35);
    k2 && (t3 = requestAnimationFrame(r3));
  }
  function z2(n2) {
    var t3 = r2, u4 = n2.__c;
    "function" == typeof u4 && (n2.__c = void 0, u4()), r2 = t3;
  }
  function B2(n2) {
    var t3 = r2;
    n2.__c = n2.__(), r2 = t3;
  }
  function C2(n2, t3) {
    return !n2 || n2.length !== t3.length || t3.some(function(t4, r3) {
      return t4 !== n2[r3];
    });
  }
  function D2(n2, t3) {
    return "function" == typeof t3 ? t3(n2) : t3;
  }

  // src/format.ts
  var UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];
  function duration(ns) {
    for (const [unit, name] of UNITS)
      if (Math.abs(ns) >= unit)
        return `${(ns / unit).toFixed(3)} ${name}`;
    return `${Math.round(ns)} ns`;
  }
  function tick(ns, step) {
    const [unit, name] = UNITS.find(([u4]) => Math.abs(ns) >= u4 || step >= u4) || [1, "ns"];
    const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
    return `${(ns / unit).toFixed(Math.min(9, digits))} ${name}`;
  }
  function clockTime(first, ns) {
    const t3 = BigInt(first) + BigInt(Math.round(ns));
    const s3 = t3 / 1000000000n;
    return `${s3}.${String(t3 % 1000000000n).padStart(9, "0")}`;
  }
  var HUES = 24;
  function colourNumber(n2) {
    return (n2 * 2654435761 >>> 0) % (HUES * 3);
  }
  function channel(n2, hue, saturation, light) {
    const k3 = (n2 + hue / 30) % 12;
    return Math.round(255 * (light - saturation * Math.min(light, 1 - light) * Math.max(-1, Math.min(k3 - 3, 9 - k3, 1))));
  }
  var PIXELS = new Uint32Array(HUES * 3);
  var COLOURS = [];
  for (let i4 = 0; i4 < HUES * 3; i4++) {
    const hue = i4 % HUES * 360 / HUES, light = [0.72, 0.64, 0.8][Math.floor(i4 / HUES)];
    const [r3, g2, b] = [channel(0, hue, 0.55, light), channel(8, hue, 0.55, light), channel(4, hue, 0.55, light)];
    PIXELS[i4] = (255 << 24 | b << 16 | g2 << 8 | r3) >>> 0;
    COLOURS.push(`rgb(${r3},${g2},${b})`);
  }

  // src/source.ts
  var WORDS = 7;
  var START = 0;
  var LENGTH = 1;
  var NAME = 2;
  var COUNT = 3;
  var WHICH = 5;
  var EXTRA = 6;

  // src/graph.ts
  var HEIGHTS = { cpu: 18, "cpu-events": 10, states: 13, events: 13, calls: 16 };
  var GAP = 6;
  var SCALE = 24;
  var STATES = ["running", "woken", "preempted", "blocked"];
  var MIN_NS = 10;
  var Graph = class {
    constructor(canvas, source, info, events) {
      this.canvas = canvas;
      this.source = source;
      this.info = info;
      this.events = events;
      this.lines = [];
      this.hidden = /* @__PURE__ */ new Set();
      // tracks
      this.markers = { a: null, b: null };
      this.area = null;
      this.chosen = null;
      this.lit = null;
      // a name: its spans stand out
      this.scroll = 0;
      this.height = 0;
      // of all lines
      this.frames = 0;
      // drawn so far
      this.width = 0;
      this.view = 0;
      this.ratio = 1;
      this.asked = null;
      this.answered = null;
      this.wanted = false;
      this.pointer = null;
      this.raster = null;
      this.strip = document.createElement("canvas");
      this.range = { from: 0, to: Math.max(info.duration, MIN_NS) };
      this.states = STATES.map((s3) => info.names.findIndex((n2, i4) => n2 === s3 && info.objects[i4] === null));
      this.layOut();
      this.listen();
    }
    // Where each row is, from the tracks that are not hidden.
    layOut() {
      let top = SCALE;
      this.lines = [];
      this.info.tracks.forEach((track, i4) => {
        if (this.hidden.has(i4))
          return;
        const before = this.info.tracks[i4 - 1];
        if (before && (before.id !== track.id || isCpu(before) !== isCpu(track)))
          top += GAP;
        track.rows.forEach((_2, row) => {
          this.lines.push({ track: i4, row, top, height: HEIGHTS[track.kind] });
          top += HEIGHTS[track.kind];
        });
      });
      this.height = top + GAP;
      this.events.laidOut();
      this.want();
    }
    resize(width, height) {
      this.ratio = window.devicePixelRatio || 1;
      this.width = width;
      this.view = height;
      this.canvas.width = Math.max(1, Math.round(width * this.ratio));
      this.canvas.height = Math.max(1, Math.round(height * this.ratio));
      this.raster = null;
      this.want();
    }
    // Show a range; its ends are kept within the recording and apart.
    show(from, to) {
      const length = Math.min(Math.max(to - from, MIN_NS), Math.max(this.info.duration * 1.1, MIN_NS));
      const margin = this.info.duration * 0.05;
      from = Math.min(Math.max(from, -margin), this.info.duration + margin - length);
      this.range = { from, to: from + length };
      this.events.moved(this.range);
      this.want();
    }
    zoom(factor, at) {
      this.show(at - (at - this.range.from) * factor, at + (this.range.to - at) * factor);
    }
    pan(part) {
      const by = (this.range.to - this.range.from) * part;
      this.show(this.range.from + by, this.range.to + by);
    }
    // Bring a time, and a row, on the screen.
    reveal(ts, track, row) {
      const { from, to } = this.range;
      if (ts < from || ts > to)
        this.show(ts - (to - from) / 2, ts + (to - from) / 2);
      const line = this.lines.find((l3) => l3.track === track && l3.row === row);
      if (line && (line.top < this.scroll + SCALE || line.top + line.height > this.scroll + this.view))
        this.scrollTo(line.top - this.view / 2);
      this.want();
    }
    scrollTo(top) {
      this.scroll = Math.max(0, Math.min(top, this.height - this.view));
      this.events.laidOut();
      this.want();
    }
    // Draw when the browser next does.
    want() {
      if (this.wanted)
        return;
      this.wanted = true;
      requestAnimationFrame(() => {
        this.wanted = false;
        this.fetch();
        this.draw();
      });
    }
    x(ts) {
      return (ts - this.range.from) / (this.range.to - this.range.from) * this.width;
    }
    ts(x2) {
      return this.range.from + x2 / this.width * (this.range.to - this.range.from);
    }
    visible() {
      return this.lines.filter((l3) => l3.top + l3.height > this.scroll && l3.top < this.scroll + this.view);
    }
    // Ask for what is on the screen, and half a screen to each side; one question at a time.
    fetch() {
      if (this.asked || !this.width)
        return;
      const { from, to } = this.range, half = (to - from) / 2;
      const pixel = (to - from) / (this.width * this.ratio);
      const rows = this.visible().map((l3) => [l3.track, l3.row]);
      const a3 = this.answered;
      if (a3 && from >= a3.from && to <= a3.to && Math.abs(a3.pixel - pixel) < pixel * 0.05 && rows.every(([t3, r3]) => a3.rows.has(`${t3}.${r3}`)))
        return;
      const asked = { key: `${from} ${to}` };
      this.asked = asked;
      const begin2 = Math.max(0, from - half), end = to + half;
      this.source.spans(rows, begin2, end, pixel).then(
        (answer) => {
          this.answered = { from: from - half, to: end, pixel, key: asked.key, rows: new Map(rows.map(([t3, r3], i4) => [`${t3}.${r3}`, answer[i4]])) };
          this.asked = null;
          this.want();
        },
        (error) => {
          this.asked = null;
          this.events.failed(error);
        }
      );
    }
    // Is everything on the screen that is to be there?
    settled() {
      return !this.asked && !this.wanted;
    }
    colour(track, blocks, i4) {
      if (track.kind === "cpu")
        return colourNumber(blocks[i4 + EXTRA]);
      if (track.kind === "states")
        return blocks[i4 + NAME] === this.states[0] ? colourNumber(blocks[i4 + EXTRA]) : -1;
      return colourNumber(blocks[i4 + NAME]);
    }
    draw() {
      const g2 = this.canvas.getContext("2d");
      const style = getComputedStyle(this.canvas);
      const dark = style.getPropertyValue("--dark").trim() === "1";
      const ink = style.getPropertyValue("--ink").trim() || "#000", grey = style.getPropertyValue("--line").trim() || "#ccc";
      const paper = style.getPropertyValue("--paper").trim() || "#fff";
      g2.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      g2.fillStyle = paper;
      g2.fillRect(0, 0, this.width, this.view);
      this.drawScale(g2, ink, grey);
      g2.save();
      g2.beginPath();
      g2.rect(0, SCALE, this.width, this.view - SCALE);
      g2.clip();
      g2.font = "11px system-ui, sans-serif";
      g2.textBaseline = "middle";
      for (const line of this.visible())
        this.drawLine(g2, line, dark);
      this.drawLost(g2);
      g2.restore();
      this.drawMarks(g2, ink);
      this.frames++;
    }
    drawScale(g2, ink, grey) {
      const { from, to } = this.range;
      const about = (to - from) / this.width * 110, power = 10 ** Math.floor(Math.log10(about));
      const step = Math.max(1, [1, 2, 5, 10].map((n2) => n2 * power).find((n2) => n2 >= about));
      g2.fillStyle = ink;
      g2.strokeStyle = grey;
      g2.font = "11px system-ui, sans-serif";
      g2.textBaseline = "middle";
      g2.beginPath();
      for (let t3 = Math.ceil(from / step) * step; t3 <= to; t3 += step) {
        const x2 = Math.round(this.x(t3)) + 0.5;
        g2.moveTo(x2, SCALE - 6);
        g2.lineTo(x2, this.view);
        g2.fillText(tick(t3, step), x2 + 3, SCALE / 2);
      }
      g2.stroke();
    }
    drawLine(g2, line, dark) {
      const blocks = this.answered?.rows.get(`${line.track}.${line.row}`);
      const track = this.info.tracks[line.track];
      if (!blocks)
        return;
      const wide = this.canvas.width, top = line.top - this.scroll, height = line.height - 1;
      if (!this.raster || this.raster.width !== wide) {
        this.raster = new ImageData(wide, 1);
        this.strip.width = wide;
        this.strip.height = 1;
      }
      const pixels = new Uint32Array(this.raster.data.buffer);
      const scale = wide / (this.range.to - this.range.from);
      const texts = [];
      const hollow = [];
      pixels.fill(0);
      for (let i4 = 0; i4 < blocks.length; i4 += WORDS) {
        const x0 = (blocks[i4 + START] - this.range.from) * scale, x1 = x0 + blocks[i4 + LENGTH] * scale;
        if (x1 < 0 || x0 > wide)
          continue;
        const left = Math.max(0, Math.floor(x0)), right = Math.min(wide, Math.max(left + 1, Math.floor(x1)));
        const colour = this.colour(track, blocks, i4);
        if (colour < 0) {
          const name = blocks[i4 + NAME];
          if (name === this.states[1] || name === this.states[2])
            hollow.push([left / this.ratio, (right - left) / this.ratio, name === this.states[1] ? "#1a9a3c" : "#d23030"]);
          continue;
        }
        let pixel = PIXELS[colour];
        if (this.lit !== null && blocks[i4 + NAME] !== this.lit)
          pixel = pixel & 16777215 | 1342177280;
        pixels.fill(pixel, left, right);
        if (right - left > 3 && blocks[i4 + COUNT] === 1)
          pixels[right - 1] = pixel & 16777215 | 1610612736;
        if (right - left > 24 * this.ratio && track.kind !== "events" && track.kind !== "cpu-events")
          texts.push([left / this.ratio, right / this.ratio, i4]);
      }
      this.strip.getContext("2d").putImageData(this.raster, 0, 0);
      g2.imageSmoothingEnabled = false;
      g2.drawImage(this.strip, 0, 0, wide, 1, 0, top, this.width, height);
      g2.fillStyle = "#101418";
      for (const [left, right, i4] of texts) {
        const room = right - left - 6, text = this.label(track, blocks, i4);
        const chars = Math.floor(room / 6);
        if (chars < 2)
          continue;
        g2.fillText(text.length > chars ? text.slice(0, chars - 1) + "…" : text, left + 3, top + height / 2 + 0.5);
      }
      for (const [left, w3, colour] of hollow) {
        g2.strokeStyle = colour;
        g2.strokeRect(left + 0.5, top + 1.5, Math.max(0, w3 - 1), height - 3);
      }
      const c3 = this.chosen;
      if (c3 && c3.track === line.track && c3.row === line.row) {
        g2.strokeStyle = dark ? "#fff" : "#000";
        g2.lineWidth = 2;
        g2.strokeRect(this.x(c3.start), top, Math.max(2, this.x(c3.start + c3.length) - this.x(c3.start)), height);
        g2.lineWidth = 1;
      }
    }
    label(track, blocks, i4) {
      const name = this.info.names[blocks[i4 + NAME]];
      if (track.kind === "cpu")
        return `${name}-${blocks[i4 + EXTRA]}`;
      if (track.kind === "states")
        return `${name} on CPU ${blocks[i4 + EXTRA]}`;
      return name;
    }
    // Records that the recording has not: a red line where they are missing.
    drawLost(g2) {
      g2.strokeStyle = "#d23030";
      g2.setLineDash([3, 3]);
      g2.beginPath();
      for (const [ts] of this.info.lost) {
        const x2 = Math.round(this.x(ts)) + 0.5;
        if (x2 < 0 || x2 > this.width)
          continue;
        g2.moveTo(x2, SCALE);
        g2.lineTo(x2, this.view);
      }
      g2.stroke();
      g2.setLineDash([]);
    }
    drawMarks(g2, ink) {
      if (this.area) {
        const x2 = this.x(this.area.from);
        g2.fillStyle = "rgba(60,120,220,0.18)";
        g2.fillRect(x2, SCALE, this.x(this.area.to) - x2, this.view - SCALE);
      }
      for (const [at, colour, name] of [[this.markers.a, COLOURS[9], "A"], [this.markers.b, COLOURS[2], "B"], [this.pointer, ink, ""]]) {
        if (at === null)
          continue;
        const x2 = Math.round(this.x(at)) + 0.5;
        g2.strokeStyle = colour;
        g2.lineWidth = name ? 2 : 1;
        g2.beginPath();
        g2.moveTo(x2, name ? 0 : SCALE);
        g2.lineTo(x2, this.view);
        g2.stroke();
        g2.lineWidth = 1;
        if (!name)
          continue;
        g2.fillStyle = colour;
        g2.fillRect(x2, 0, 14, 14);
        g2.fillStyle = "#000";
        g2.fillText(name, x2 + 3, 8);
      }
    }
    // The span at a place, the nearest within 3 pixels.
    spanAt(x2, y3) {
      const line = this.lines.find((l3) => y3 + this.scroll >= l3.top && y3 + this.scroll < l3.top + l3.height);
      const blocks = line && this.answered?.rows.get(`${line.track}.${line.row}`);
      if (!line || !blocks || y3 < SCALE)
        return null;
      let best = -1, near = 3;
      for (let i4 = 0; i4 < blocks.length; i4 += WORDS) {
        const x0 = this.x(blocks[i4 + START]), x1 = this.x(blocks[i4 + START] + blocks[i4 + LENGTH]);
        const away = x2 < x0 ? x0 - x2 : x2 > x1 ? x2 - x1 : 0;
        if (away < near) {
          best = i4;
          near = away;
        }
      }
      if (best < 0)
        return null;
      return { track: line.track, row: line.row, start: blocks[best + START], length: blocks[best + LENGTH], name: blocks[best + NAME], count: blocks[best + COUNT], which: blocks[best + WHICH], extra: blocks[best + EXTRA] };
    }
    listen() {
      const c3 = this.canvas;
      let from = null;
      const place = (e3) => {
        const box = c3.getBoundingClientRect();
        return [e3.clientX - box.left, e3.clientY - box.top];
      };
      c3.addEventListener("wheel", (e3) => {
        e3.preventDefault();
        if (e3.shiftKey)
          this.pan(Math.sign(e3.deltaY || e3.deltaX) * 0.1);
        else if (e3.ctrlKey || e3.metaKey || !this.scrolls())
          this.zoom(e3.deltaY > 0 ? 1.25 : 0.8, this.ts(place(e3)[0]));
        else
          this.scrollTo(this.scroll + e3.deltaY);
      }, { passive: false });
      c3.addEventListener("pointerdown", (e3) => {
        if (e3.button !== 0)
          return;
        const [x2, y3] = place(e3);
        c3.setPointerCapture(e3.pointerId);
        from = { x: x2, range: this.range, area: e3.shiftKey || y3 < SCALE, moved: false };
      });
      c3.addEventListener("pointermove", (e3) => {
        const [x2, y3] = place(e3);
        this.pointer = this.ts(x2);
        if (from && Math.abs(x2 - from.x) > 3)
          from.moved = true;
        if (from && from.moved && from.area) {
          const [a3, b] = [this.ts(from.x), this.ts(x2)].sort((p3, q2) => p3 - q2);
          this.area = { from: Math.max(0, a3), to: Math.min(b, this.info.duration) };
        } else if (from && from.moved) {
          const by = (from.x - x2) / this.width * (from.range.to - from.range.from);
          this.show(from.range.from + by, from.range.to + by);
        } else
          this.events.pointed(this.spanAt(x2, y3), this.pointer, e3.clientX, e3.clientY);
        this.want();
      });
      c3.addEventListener("pointerup", (e3) => {
        const [x2, y3] = place(e3);
        if (from && from.moved && from.area)
          this.events.area(this.area);
        else if (from && !from.moved)
          this.events.clicked(this.spanAt(x2, y3), this.ts(x2));
        from = null;
      });
      c3.addEventListener("pointercancel", () => from = null);
      c3.addEventListener("pointerleave", () => {
        this.pointer = null;
        this.events.pointed(null, 0, 0, 0);
        this.want();
      });
      c3.addEventListener("dblclick", (e3) => {
        const span = this.spanAt(...place(e3));
        if (span && span.length)
          this.show(span.start - span.length * 0.1, span.start + span.length * 1.1);
      });
    }
    scrolls() {
      return this.height > this.view;
    }
  };
  function isCpu(track) {
    return track.kind === "cpu" || track.kind === "cpu-events";
  }
  function trackTitle(track) {
    if (track.kind === "cpu")
      return `CPU ${track.id}`;
    if (track.kind === "cpu-events")
      return `CPU ${track.id} events`;
    if (track.stack)
      return `${track.name}-${track.id} stack ${track.stack}`;
    return `${track.name}-${track.id}${track.kind === "calls" ? "" : ` ${track.kind}`}`;
  }

  // node_modules/preact/jsx-runtime/dist/jsxRuntime.module.js
  var f3 = 0;
  var i3 = Array.isArray;
  function u3(e3, t3, n2, o3, i4, u4) {
    t3 || (t3 = {});
    var a3, c3, p3 = t3;
    if ("ref" in p3)
      for (c3 in p3 = {}, t3)
        "ref" == c3 ? a3 = t3[c3] : p3[c3] = t3[c3];
    var l3 = { type: e3, props: p3, key: n2, ref: a3, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: void 0, __v: --f3, __i: -1, __u: 0, __source: i4, __self: u4 };
    if ("function" == typeof e3 && (a3 = e3.defaultProps))
      for (c3 in a3)
        void 0 === p3[c3] && (p3[c3] = a3[c3]);
    return l.vnode && l.vnode(l3), l3;
  }

  // src/list.tsx
  var LINE = 20;
  var MAX = 8e6;
  function List({ source, info, chosen, reveal, choose, failed }) {
    const box = A2(null);
    const [first, setFirst] = d2(0);
    const [height, setHeight] = d2(200);
    const [shown, setShown] = d2({ first: 0, entries: [] });
    const lines = Math.ceil(height / LINE) + 1;
    const total = Math.min(info.list * LINE, MAX);
    const last = Math.max(0, info.list - lines + 2);
    const scrolled = (top) => total < MAX ? Math.floor(top / LINE) : Math.round(top / (total - height) * last);
    y2(() => {
      const watch = new ResizeObserver(() => setHeight(box.current.clientHeight));
      watch.observe(box.current);
      return () => watch.disconnect();
    }, []);
    y2(() => {
      let gone = false;
      source.list(first, lines).then(
        (entries) => gone || setShown({ first, entries }),
        (error) => gone || failed(error)
      );
      return () => {
        gone = true;
      };
    }, [first, lines]);
    y2(() => {
      if (reveal < 0 || !box.current)
        return;
      if (reveal >= first && reveal < first + lines - 2)
        return;
      const to = Math.max(0, reveal - Math.floor(lines / 2));
      box.current.scrollTop = total < MAX ? to * LINE : to / last * (total - height);
      setFirst(to);
    }, [reveal]);
    const key = (e3) => {
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: lines - 2, PageUp: 2 - lines }[e3.key];
      if (!by)
        return;
      e3.preventDefault();
      e3.stopPropagation();
      const to = Math.max(0, Math.min(info.list - 1, chosen + by));
      source.list(to, 1).then(([entry]) => entry && choose(to, entry), failed);
    };
    return /* @__PURE__ */ u3("div", { class: "list", role: "grid", "aria-label": "Events and calls", "aria-rowcount": info.list, children: [
      /* @__PURE__ */ u3("div", { class: "line head", role: "row", children: ["#", "CPU", "Time", "Task", "Length", "Event", "Info"].map((title) => /* @__PURE__ */ u3("span", { role: "columnheader", children: title })) }),
      /* @__PURE__ */ u3("div", { class: "rows", role: "rowgroup", ref: box, tabIndex: 0, onKeyDown: key, onScroll: (e3) => setFirst(scrolled(e3.currentTarget.scrollTop)), children: /* @__PURE__ */ u3("div", { class: "tall", role: "presentation", style: { height: `${total}px` }, children: /* @__PURE__ */ u3("div", { class: "lines", role: "presentation", style: { transform: `translateY(${total < MAX ? shown.first * LINE : box.current?.scrollTop || 0}px)` }, children: shown.entries.map((entry, i4) => {
        const at = shown.first + i4;
        return /* @__PURE__ */ u3(
          "div",
          {
            class: at === chosen ? "line chosen" : "line",
            role: "row",
            "aria-rowindex": at + 1,
            "aria-selected": at === chosen,
            onClick: () => choose(at, entry),
            children: columns(info, entry, at).map((text) => /* @__PURE__ */ u3("span", { role: "gridcell", title: text, children: text }))
          },
          at
        );
      }) }) }) })
    ] });
  }
  function columns(info, entry, at) {
    const [start, length, name, track, row, , cpu, tid, text] = entry;
    const time = clockTime(info.first, start);
    if (cpu !== void 0) {
      const task = info.tracks.find((t4) => t4.kind === "events" && t4.id === tid);
      return [String(at), String(cpu), time, `${task ? task.name : ""}-${tid}`, "", info.names[name], text || ""];
    }
    const t3 = info.tracks[track];
    return [String(at), "", time, `${t3.name}-${t3.id}`, duration(length), info.names[name], `depth ${row}${t3.stack ? `, stack ${t3.stack}` : ""}`];
  }

  // src/panel.tsx
  function SpanPanel({ source, info, span, go, failed }) {
    if (!span)
      return /* @__PURE__ */ u3("p", { class: "hint", children: "Click a call or an event. Drag with Shift for a range." });
    const track = info.tracks[span.track];
    const object = info.objects[span.name];
    const facts = [
      [track.kind === "calls" ? "Function" : "Event", info.names[span.name]],
      ["Track", trackTitle(track)],
      ["Time", clockTime(info.first, span.start)]
    ];
    if (object)
      facts.push(["Object", object]);
    if (info.places[span.name])
      facts.push(["Source", info.places[span.name]]);
    if (span.length)
      facts.push(["Length", duration(span.length)]);
    if (track.kind === "calls")
      facts.push(["Depth", String(span.row)]);
    if (track.kind === "cpu")
      facts.push(["Thread", String(span.extra)]);
    if (track.kind === "states")
      facts.push(["CPU", String(span.extra)]);
    if (span.count > 1)
      facts.push(["Together", `${span.count} are too short to be shown apart: this is the longest's name`]);
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("dl", { class: "facts", children: facts.map(([name, value]) => /* @__PURE__ */ u3(k, { children: [
        /* @__PURE__ */ u3("dt", { children: name }),
        /* @__PURE__ */ u3("dd", { children: value })
      ] })) }),
      track.kind === "calls" && /* @__PURE__ */ u3(TimesPanel, { source, info, name: span.name, go, failed })
    ] });
  }
  function TimesPanel({ source, info, name, go, failed }) {
    const [times, setTimes] = d2(null);
    y2(() => {
      source.function(name).then(setTimes, failed);
    }, [name]);
    if (!times)
      return null;
    const most = Math.max(...times.buckets, 1), first = times.buckets.findIndex((n2) => n2 > 0);
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("p", { class: "hint", children: [
        times.calls,
        " calls of ",
        info.names[name],
        ": p50 ",
        duration(times.p50),
        ", p90 ",
        duration(times.p90),
        ", p99 ",
        duration(times.p99)
      ] }),
      /* @__PURE__ */ u3("table", { class: "buckets", "aria-label": "How many calls took how long", children: times.buckets.map(
        (nr, i4) => i4 < first ? null : /* @__PURE__ */ u3("tr", { children: [
          /* @__PURE__ */ u3("th", { scope: "row", children: duration(i4 ? 2 ** i4 : 0) }),
          /* @__PURE__ */ u3("td", { children: nr }),
          /* @__PURE__ */ u3("td", { class: "bar", children: /* @__PURE__ */ u3("div", { style: { width: `${nr / most * 100}%` } }) })
        ] })
      ) }),
      /* @__PURE__ */ u3("p", { class: "hint", children: "The longest:" }),
      /* @__PURE__ */ u3("ol", { class: "longest", children: times.longest.map(([start, length, track, row, which]) => /* @__PURE__ */ u3("li", { children: /* @__PURE__ */ u3("button", { onClick: () => go({ track, row, start, length, name, count: 1, which, extra: 0 }), children: [
        duration(length),
        " at ",
        clockTime(info.first, start)
      ] }) })) })
    ] });
  }
  var EXAMPLE = "SELECT name, count(*) AS calls, percentile(duration, 99) AS p99, max(duration)\nFROM slices GROUP BY name ORDER BY 4 DESC LIMIT 20";
  function SqlPanel({ source, info, goTo }) {
    const [question, setQuestion] = d2(EXAMPLE);
    const [answer, setAnswer] = d2(null);
    const [busy, setBusy] = d2(false);
    if (!source.sql)
      return /* @__PURE__ */ u3("p", { class: "hint", children: "This page has no server. Ask the recording with vestige sql FILE 'SELECT ...'." });
    const run = async () => {
      setBusy(true);
      try {
        setAnswer(await source.sql(question));
      } catch (error) {
        setAnswer({ error: error.message, names: [], rows: [], cut: false });
      }
      setBusy(false);
    };
    const start = answer && !answer.error ? answer.names.indexOf("start") : -1, length = answer && !answer.error ? answer.names.indexOf("duration") : -1;
    const go = (row) => {
      if (start >= 0 && /^\d+$/.test(row[start] || ""))
        goTo(Number(BigInt(row[start]) - BigInt(info.first)), Number(row[length] || 0));
    };
    return /* @__PURE__ */ u3("div", { class: "sql", children: [
      /* @__PURE__ */ u3(
        "textarea",
        {
          "aria-label": "SELECT of the tables slices, events, states, cpus, tracks, functions",
          rows: 3,
          value: question,
          onInput: (e3) => setQuestion(e3.currentTarget.value),
          onKeyDown: (e3) => e3.ctrlKey && e3.key === "Enter" && run()
        }
      ),
      /* @__PURE__ */ u3("button", { onClick: run, disabled: busy, children: "Run" }),
      answer && answer.error && /* @__PURE__ */ u3("p", { class: "hint", role: "alert", children: answer.error }),
      answer && !answer.error && /* @__PURE__ */ u3("table", { class: "functions", children: [
        /* @__PURE__ */ u3("thead", { children: /* @__PURE__ */ u3("tr", { children: answer.names.map((name) => /* @__PURE__ */ u3("th", { scope: "col", children: name })) }) }),
        /* @__PURE__ */ u3("tbody", { children: answer.rows.map((row) => /* @__PURE__ */ u3("tr", { onClick: () => go(row), children: row.map((cell) => /* @__PURE__ */ u3("td", { title: cell || "", children: cell })) })) })
      ] }),
      answer && answer.cut && /* @__PURE__ */ u3("p", { class: "hint", children: "There are more rows." })
    ] });
  }
  var HEADS = ["Function", "Calls", "Total", "Self", "Min", "Max"];
  function TablePanel({ source, info, area, tracks, light, failed }) {
    const [rows, setRows] = d2([]);
    const [by, setBy] = d2(3);
    y2(() => {
      source.table(area.from, area.to, tracks).then(setRows, failed);
    }, [area, tracks.join()]);
    const sorted = [...rows].sort((a3, b) => by ? b[by] - a3[by] : info.names[a3[0]].localeCompare(info.names[b[0]])).slice(0, 500);
    return /* @__PURE__ */ u3("table", { class: "functions", children: [
      /* @__PURE__ */ u3("thead", { children: /* @__PURE__ */ u3("tr", { children: HEADS.map((head, i4) => /* @__PURE__ */ u3("th", { scope: "col", "aria-sort": by === i4 ? i4 ? "descending" : "ascending" : "none", children: /* @__PURE__ */ u3("button", { onClick: () => setBy(i4), children: head }) })) }) }),
      /* @__PURE__ */ u3("tbody", { children: sorted.map((row) => /* @__PURE__ */ u3("tr", { onClick: () => light(row[0]), children: [
        /* @__PURE__ */ u3("td", { title: info.names[row[0]], children: info.names[row[0]] }),
        /* @__PURE__ */ u3("td", { children: row[1] }),
        row.slice(2).map((ns) => /* @__PURE__ */ u3("td", { children: duration(ns) }))
      ] }, row[0])) })
    ] });
  }
  var FLAME_LINE = 18;
  function flameBoxes(rows, root) {
    const children = [];
    rows.forEach(([caller], i4) => (children[caller] = children[caller] || []).push(i4 + 1));
    const total = (node) => node ? rows[node - 1][3] : (children[0] || []).reduce((sum, i4) => sum + rows[i4 - 1][3], 0);
    const boxes = [];
    const all = total(root) || 1;
    const put = (node, depth, left) => {
      const width = total(node) / all;
      if (width < 1e-3)
        return;
      boxes.push({ node, depth, left, width });
      (children[node] || []).sort((a3, b) => total(b) - total(a3)).forEach((child) => {
        put(child, depth + 1, left);
        left += total(child) / all;
      });
    };
    put(root, 0, 0);
    return boxes;
  }
  function FlamePanel({ source, info, area, tracks, light, failed }) {
    const [rows, setRows] = d2([]);
    const [root, setRoot] = d2(0);
    y2(() => {
      setRoot(0);
      source.flame(area.from, area.to, tracks).then(setRows, failed);
    }, [area, tracks.join()]);
    const boxes = flameBoxes(rows, root);
    const deepest = boxes.reduce((d3, b) => Math.max(d3, b.depth), 0);
    return /* @__PURE__ */ u3("div", { class: "flame", style: { height: `${(deepest + 1) * FLAME_LINE}px` }, children: boxes.map(({ node, depth, left, width }) => {
      const row = rows[node - 1];
      const name = node ? info.names[row[1]] : "all";
      const title = node ? `${name}: ${row[2]} calls, ${duration(row[3])}, self ${duration(row[4])}` : "all";
      return /* @__PURE__ */ u3(
        "button",
        {
          class: "box",
          title,
          style: { left: `${left * 100}%`, width: `${width * 100}%`, top: `${depth * FLAME_LINE}px`, background: node ? COLOURS[colourNumber(row[1])] : "#ccc" },
          onClick: () => {
            setRoot(node === root ? 0 : node);
            light(node ? row[1] : null);
          },
          children: name
        },
        node
      );
    }) });
  }

  // src/app.tsx
  var KEYS = [
    ["W, S or + and -", "zoom in and out"],
    ["A, D or arrows", "go left and right"],
    ["0", "the whole recording"],
    ["F", "zoom to what is chosen, or to the range"],
    ["N, P", "next and previous call of the same function"],
    ["M", "which marker the next click sets: A or B"],
    ["/", "search"],
    ["Escape", "nothing is chosen"],
    ["?", "this help"]
  ];
  function App({ source, info }) {
    const canvas = A2(null);
    const pane = A2(null);
    const search = A2(null);
    const graph = A2(null);
    const [, redraw] = h2((n2) => n2 + 1, 0);
    const [range, setRange] = d2({ from: 0, to: info.duration });
    const [card, setCard] = d2(null);
    const [span, setSpan] = d2(null);
    const [entry, setEntry] = d2(-1);
    const [area, setArea] = d2(null);
    const [tab, setTab] = d2("chosen");
    const [marker, setMarker] = d2("a");
    const [text, setText] = d2("");
    const [found, setFound] = d2("");
    const [problem, setProblem] = d2("");
    const [help, setHelp] = d2(false);
    const [dark, setDark] = d2(() => matchMedia("(prefers-color-scheme: dark)").matches);
    const [filter, setFilter] = d2("");
    const failed = (error) => setProblem(error.message);
    y2(() => {
      document.documentElement.dataset.dark = dark ? "1" : "0";
      graph.current?.want();
    }, [dark]);
    y2(() => {
      const g3 = new Graph(canvas.current, source, info, {
        moved: (r3) => {
          setRange(r3);
          history.replaceState(null, "", `#t=${Math.round(r3.from)}-${Math.round(r3.to)}`);
        },
        pointed: (s3, _ts, x2, y3) => setCard(s3 ? { span: s3, x: x2, y: y3 } : null),
        clicked: (s3, ts) => clicked.current(s3, ts),
        area: (r3) => {
          setArea(r3);
          setTab("table");
        },
        failed,
        laidOut: () => redraw(0)
      });
      graph.current = g3;
      window.vestige = { graph: g3, source, info };
      const watch = new ResizeObserver(() => {
        g3.resize(pane.current.clientWidth, pane.current.clientHeight);
        redraw(0);
      });
      watch.observe(pane.current);
      const asked = /t=(-?\d+)-(\d+)/.exec(location.hash);
      if (asked)
        g3.show(Number(asked[1]), Number(asked[2]));
      return () => watch.disconnect();
    }, []);
    const choose = (s3, ts) => {
      const g3 = graph.current;
      g3.chosen = s3;
      g3.markers[marker] = s3 ? s3.start : ts;
      setSpan(s3);
      setTab("chosen");
      g3.want();
    };
    const clicked = A2(() => void 0);
    clicked.current = (s3, ts) => {
      choose(s3, ts);
      source.number(s3 ? s3.start : ts).then((at) => pickAt(at, s3), failed);
    };
    const pickAt = async (at, s3) => {
      for (const [i4, e3] of (await source.list(at, 64)).entries()) {
        if (!s3 || e3[0] === s3.start && e3[2] === s3.name && e3[6] === void 0 && e3[3] === s3.track && e3[4] === s3.row || e3[6] !== void 0 && e3[5] === s3.extra && !s3.length && e3[0] === s3.start) {
          setEntry(at + i4);
          return;
        }
      }
      setEntry(at);
    };
    const chooseEntry = (at, e3) => {
      const [start, length, name, track, row, which, , tid] = e3;
      const isCall = tid === void 0;
      const t3 = isCall ? track : info.tracks.findIndex((x2) => x2.kind === "events" && x2.id === tid);
      setEntry(at);
      choose({ track: t3, row: isCall ? row : 0, start, length, name, count: 1, which, extra: isCall ? 0 : which }, start);
      graph.current.reveal(start, t3, isCall ? row : 0);
    };
    const goTo = (s3) => {
      clicked.current(s3, s3.start);
      graph.current.reveal(s3.start, s3.track, s3.row);
    };
    const find = async (backward, what = text) => {
      if (!what)
        return;
      try {
        const answer = await source.find(what, entry < 0 ? backward ? info.list : -1 : entry, backward);
        setFound(answer.nr ? `${answer.at < 0 ? backward ? "none before" : "none behind" : answer.before + 1} of ${answer.nr}` : "none");
        if (answer.at < 0)
          return;
        const [e3] = await source.list(answer.at, 1);
        chooseEntry(answer.at, e3);
      } catch (error) {
        failed(error);
      }
    };
    const same = async (backward) => {
      if (!span)
        return;
      const name = info.names[span.name];
      let at = entry;
      for (let tries = 0; tries < 1e3; tries++) {
        const answer = await source.find(name, at, backward);
        if (answer.at < 0)
          return;
        const [e3] = await source.list(answer.at, 1);
        if (e3[2] === span.name)
          return chooseEntry(answer.at, e3);
        at = answer.at;
      }
    };
    const light = (name) => {
      graph.current.lit = graph.current.lit === name ? null : name;
      graph.current.want();
    };
    const fit = () => {
      const g3 = graph.current, s3 = area || (span && span.length ? { from: span.start, to: span.start + span.length } : null);
      if (s3)
        g3.show(s3.from - (s3.to - s3.from) * 0.05, s3.to + (s3.to - s3.from) * 0.05);
    };
    const nothing = () => {
      const g3 = graph.current;
      g3.chosen = g3.lit = g3.area = null;
      g3.markers = { a: null, b: null };
      setSpan(null);
      setArea(null);
      setEntry(-1);
      setHelp(false);
      setProblem("");
      g3.want();
    };
    const keys = A2(() => void 0);
    keys.current = (e3) => {
      const g3 = graph.current, middle = span ? span.start : (range.from + range.to) / 2;
      if (e3.key === "Escape")
        return nothing();
      if (["INPUT", "TEXTAREA"].includes(e3.target.tagName) || e3.ctrlKey || e3.metaKey || e3.altKey)
        return;
      const act = {
        w: () => g3.zoom(0.7, middle),
        "+": () => g3.zoom(0.7, middle),
        "=": () => g3.zoom(0.7, middle),
        s: () => g3.zoom(1.4, middle),
        "-": () => g3.zoom(1.4, middle),
        a: () => g3.pan(-0.2),
        ArrowLeft: () => g3.pan(-0.2),
        d: () => g3.pan(0.2),
        ArrowRight: () => g3.pan(0.2),
        ArrowUp: () => g3.scrollTo(g3.scroll - 40),
        ArrowDown: () => g3.scrollTo(g3.scroll + 40),
        "0": () => g3.show(0, info.duration),
        f: fit,
        n: () => same(false),
        p: () => same(true),
        m: () => setMarker(marker === "a" ? "b" : "a"),
        "/": () => search.current.focus(),
        "?": () => setHelp(!help)
      };
      const todo = act[e3.key.length === 1 ? e3.key.toLowerCase() : e3.key];
      if (!todo)
        return;
      e3.preventDefault();
      todo();
    };
    y2(() => {
      const press = (e3) => keys.current(e3);
      window.addEventListener("keydown", press);
      return () => window.removeEventListener("keydown", press);
    }, []);
    const show = (words) => {
      const g3 = graph.current;
      setFilter(words);
      g3.hidden = new Set(info.tracks.flatMap((t3, i4) => trackTitle(t3).toLowerCase().includes(words.toLowerCase()) ? [] : [i4]));
      g3.layOut();
      g3.scrollTo(0);
    };
    const g2 = graph.current;
    const labels = T2(() => g2 ? labelsOf(g2, info) : [], [g2 && g2.lines]);
    const { a: a3, b } = g2 ? g2.markers : { a: null, b: null };
    const tracks = g2 ? info.tracks.flatMap((t3, i4) => t3.kind === "calls" && !g2.hidden.has(i4) ? [i4] : []) : [];
    return /* @__PURE__ */ u3("div", { class: "page", children: [
      /* @__PURE__ */ u3("header", { class: "bar", children: [
        /* @__PURE__ */ u3("h1", { title: info.uname, children: info.command || info.path }),
        /* @__PURE__ */ u3("label", { children: [
          "Search",
          /* @__PURE__ */ u3(
            "input",
            {
              ref: search,
              type: "search",
              value: text,
              onInput: (e3) => setText(e3.currentTarget.value),
              onKeyDown: (e3) => e3.key === "Enter" && find(e3.shiftKey),
              "aria-label": "Search names and texts"
            }
          )
        ] }),
        /* @__PURE__ */ u3("button", { onClick: () => find(true), "aria-label": "Previous match", children: "◀" }),
        /* @__PURE__ */ u3("button", { onClick: () => find(false), "aria-label": "Next match", children: "▶" }),
        /* @__PURE__ */ u3("output", { class: "found", "aria-live": "polite", children: found }),
        /* @__PURE__ */ u3("label", { children: [
          "Tracks",
          /* @__PURE__ */ u3("input", { type: "search", value: filter, onInput: (e3) => show(e3.currentTarget.value), "aria-label": "Show only tracks with this text" })
        ] }),
        /* @__PURE__ */ u3("button", { onClick: () => g2.zoom(0.7, (range.from + range.to) / 2), "aria-label": "Zoom in", children: "+" }),
        /* @__PURE__ */ u3("button", { onClick: () => g2.zoom(1.4, (range.from + range.to) / 2), "aria-label": "Zoom out", children: "−" }),
        /* @__PURE__ */ u3("button", { onClick: () => g2.show(0, info.duration), children: "All" }),
        /* @__PURE__ */ u3("button", { onClick: () => setMarker(marker === "a" ? "b" : "a"), "aria-label": "Which marker a click sets", children: [
          "Marker ",
          marker.toUpperCase()
        ] }),
        /* @__PURE__ */ u3("button", { onClick: () => setDark(!dark), children: dark ? "Light" : "Dark" }),
        /* @__PURE__ */ u3("button", { onClick: () => setHelp(!help), "aria-expanded": help, children: "Help" }),
        /* @__PURE__ */ u3("span", { class: "marks", children: [
          a3 !== null && `A ${clockTime(info.first, a3)} `,
          b !== null && `B ${clockTime(info.first, b)} `,
          a3 !== null && b !== null && `B − A ${duration(b - a3)}`
        ] }),
        /* @__PURE__ */ u3("span", { class: "shown", children: [
          duration(range.to - range.from),
          " shown"
        ] })
      ] }),
      problem && /* @__PURE__ */ u3("p", { class: "problem", role: "alert", children: problem }),
      notes(info).map((note) => /* @__PURE__ */ u3("p", { class: "note", role: "note", children: note })),
      help && /* @__PURE__ */ u3("dl", { class: "help", children: KEYS.map(([key, what]) => /* @__PURE__ */ u3(k, { children: [
        /* @__PURE__ */ u3("dt", { children: key }),
        /* @__PURE__ */ u3("dd", { children: what })
      ] })) }),
      /* @__PURE__ */ u3("main", { class: "timeline", children: [
        /* @__PURE__ */ u3("div", { class: "labels", "aria-label": "Tracks", children: labels.map(({ track, top, height, title }) => /* @__PURE__ */ u3(
          "div",
          {
            class: isCpu(info.tracks[track]) ? "label cpu" : "label",
            title,
            style: { top: `${top - g2.scroll}px`, height: `${height}px` },
            children: title
          },
          track
        )) }),
        /* @__PURE__ */ u3("div", { class: "pane", ref: pane, children: /* @__PURE__ */ u3("canvas", { ref: canvas, tabIndex: 0, role: "img", "aria-label": `Timeline of ${info.tracks.length} tracks` }) }),
        /* @__PURE__ */ u3(
          "input",
          {
            class: "scroll",
            type: "range",
            "aria-label": "Scroll tracks",
            min: 0,
            max: Math.max(0, g2 ? g2.height - (pane.current?.clientHeight || 0) : 0),
            value: g2 ? g2.scroll : 0,
            onInput: (e3) => g2.scrollTo(Number(e3.currentTarget.value))
          }
        )
      ] }),
      card && /* @__PURE__ */ u3(HoverCard, { info, card }),
      /* @__PURE__ */ u3("section", { class: "below", children: [
        /* @__PURE__ */ u3(List, { source, info, chosen: entry, reveal: entry, choose: chooseEntry, failed }),
        /* @__PURE__ */ u3("div", { class: "panel", children: [
          /* @__PURE__ */ u3("div", { class: "tabs", role: "tablist", children: [
            ["chosen", "table", "flame", "sql"].map((t3) => /* @__PURE__ */ u3("button", { role: "tab", "aria-selected": tab === t3, onClick: () => setTab(t3), children: { chosen: "Chosen", table: "Functions", flame: "Flame graph", sql: "SQL" }[t3] })),
            area && /* @__PURE__ */ u3("span", { children: [
              duration(area.to - area.from),
              " from ",
              clockTime(info.first, area.from)
            ] })
          ] }),
          /* @__PURE__ */ u3("div", { class: "body", role: "tabpanel", children: [
            tab === "chosen" && /* @__PURE__ */ u3(SpanPanel, { source, info, span, go: goTo, failed }),
            tab === "table" && /* @__PURE__ */ u3(TablePanel, { source, info, area: area || everything(info), tracks, light, failed }),
            tab === "flame" && /* @__PURE__ */ u3(FlamePanel, { source, info, area: area || everything(info), tracks, light, failed }),
            tab === "sql" && /* @__PURE__ */ u3(SqlPanel, { source, info, goTo: (from, length) => g2.show(from - Math.max(length * 0.1, 500), from + Math.max(length * 1.1, 500)) })
          ] })
        ] })
      ] })
    ] });
  }
  var wholes = /* @__PURE__ */ new WeakMap();
  function everything(info) {
    if (!wholes.has(info))
      wholes.set(info, { from: 0, to: info.duration + 1 });
    return wholes.get(info);
  }
  function notes(info) {
    const out = [];
    const lost = info.lost.reduce((sum, [, , nr]) => nr < 0 ? sum : sum + nr, 0);
    if (info.lost.length)
      out.push(`Records were lost in ${info.lost.length} places${lost ? ` (at least ${lost})` : ""}: red lines. Counts and times are too low.`);
    if (info.tooDeep)
      out.push(`${info.tooDeep} calls were nested too deep to be shown.`);
    if (info.leftOut)
      out.push(`${info.leftOut} calls shorter than ${duration(info.shortest)} are left out, so that this page stays small. Tables and flame graphs are without them.`);
    if (info.leftEvents)
      out.push(`The last ${info.leftEvents} events are left out, so that this page stays small.`);
    return out;
  }
  function labelsOf(g2, info) {
    const out = [];
    for (const line of g2.lines) {
      const last = out[out.length - 1];
      if (last && last.track === line.track)
        last.height = line.top + line.height - last.top;
      else
        out.push({ track: line.track, top: line.top, height: line.height, title: trackTitle(info.tracks[line.track]) });
    }
    return out.filter((l3) => l3.top + l3.height > SCALE);
  }
  function HoverCard({ info, card }) {
    const { span } = card, track = info.tracks[span.track];
    const left = Math.min(card.x + 12, innerWidth - 320);
    return /* @__PURE__ */ u3("div", { class: "card", style: { left: `${left}px`, top: `${Math.min(card.y + 16, innerHeight - 80)}px` }, children: [
      /* @__PURE__ */ u3("b", { children: info.names[span.name] }),
      track.kind === "cpu" && `-${span.extra}`,
      span.count > 1 && ` and ${span.count - 1} more`,
      /* @__PURE__ */ u3("br", {}),
      trackTitle(track),
      track.kind === "states" && ` on CPU ${span.extra}`,
      /* @__PURE__ */ u3("br", {}),
      span.length ? duration(span.length) : "event",
      " at ",
      clockTime(info.first, span.start)
    ] });
  }

  // src/local.ts
  function sums(differences) {
    let at = 0;
    return differences.map((d3) => at += d3);
  }
  function lower(sorted, value) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const mid = low + high >> 1;
      if (sorted[mid] < value)
        low = mid + 1;
      else
        high = mid;
    }
    return low;
  }
  var LocalSource = class {
    constructor(all) {
      this.all = all;
      this.order = null;
      // the list: 0 an event, else 1 + index of a row
      this.callRows = [];
      this.ts = sums(all.events.ts);
      this.tracks = all.info.tracks.map((track, i4) => {
        const rows = all.rows[i4];
        if (!rows)
          return [this.eventRow(track.kind === "cpu-events" ? all.events.cpu : all.events.tid, track.id)];
        return rows.map(([start, length, name, extra]) => ({ start: sums(start), length, name, extra: extra || null }));
      });
      all.info.tracks.forEach((track, i4) => {
        if (track.kind === "calls")
          this.tracks[i4].forEach((columns2, row) => this.callRows.push({ track: i4, row, columns: columns2 }));
      });
    }
    eventRow(by, id) {
      const row = { start: [], length: [], name: [], extra: [] };
      by.forEach((value, i4) => {
        if (value !== id)
          return;
        row.start.push(this.ts[i4]);
        row.length.push(0);
        row.name.push(this.all.events.name[i4]);
        row.extra.push(i4);
      });
      return row;
    }
    async info() {
      return this.all.info;
    }
    async spans(rows, from, to, pixel) {
      pixel = Math.floor(pixel);
      return rows.map(([track, row]) => {
        const columns2 = this.tracks[track]?.[row];
        return columns2 ? query(columns2, Math.floor(from), Math.floor(to), pixel) : [];
      });
    }
    // Which row the entry of each number is of.
    listOrder() {
      if (this.order)
        return this.order;
      const next = new Array(this.callRows.length + 1).fill(0);
      const starts = [this.ts, ...this.callRows.map((r3) => r3.columns.start)];
      const order = new Uint32Array(starts.reduce((nr, s3) => nr + s3.length, 0));
      const heap = [];
      const less = (a3, b) => starts[a3][next[a3]] < starts[b][next[b]] || starts[a3][next[a3]] === starts[b][next[b]] && a3 < b;
      const down = (i4) => {
        for (; ; ) {
          let least = i4;
          for (const child of [2 * i4 + 1, 2 * i4 + 2])
            if (child < heap.length && less(heap[child], heap[least]))
              least = child;
          if (least === i4)
            return;
          [heap[i4], heap[least]] = [heap[least], heap[i4]];
          i4 = least;
        }
      };
      starts.forEach((s3, i4) => s3.length && heap.push(i4));
      for (let i4 = heap.length >> 1; i4 >= 0; i4--)
        down(i4);
      for (let i4 = 0; heap.length; i4++) {
        const s3 = heap[0];
        order[i4] = s3;
        if (++next[s3] === starts[s3].length) {
          heap[0] = heap[heap.length - 1];
          heap.pop();
        }
        down(0);
      }
      this.order = order;
      return order;
    }
    entry(source, i4) {
      const { events, texts } = this.all;
      if (source === 0)
        return [this.ts[i4], 0, events.name[i4], 0, 0, i4, events.cpu[i4], events.tid[i4], texts[events.text[i4]]];
      const { track, row, columns: columns2 } = this.callRows[source - 1];
      return [columns2.start[i4], columns2.length[i4], columns2.name[i4], track, row, i4];
    }
    each(from, to, tell) {
      const order = this.listOrder();
      const next = new Array(this.callRows.length + 1).fill(0);
      for (let i4 = 0; i4 < Math.min(to, order.length); i4++) {
        const nr = next[order[i4]]++;
        if (i4 >= from)
          tell(this.entry(order[i4], nr), i4);
      }
    }
    async list(at, nr) {
      const out = [];
      this.each(at, at + nr, (entry) => out.push(entry));
      return out;
    }
    async number(ts) {
      ts = Math.floor(ts);
      return this.callRows.reduce((nr, r3) => nr + lower(r3.columns.start, ts), lower(this.ts, ts));
    }
    async find(text, at, backward) {
      const found = { at: -1, nr: 0, before: 0 };
      text = text.toLowerCase();
      const names = this.all.info.names.map((n2) => n2.toLowerCase().includes(text));
      const texts = this.all.texts.map((t3) => t3.toLowerCase().includes(text));
      this.each(0, Infinity, (entry, i4) => {
        if (!names[entry[2]] && !(entry.length > 6 && texts[this.all.events.text[entry[5]]]))
          return;
        if (backward ? i4 < at : i4 > at && found.at < 0) {
          found.at = i4;
          found.before = found.nr;
        }
        found.nr++;
      });
      return found;
    }
    async table(from, to, tracks) {
      const rows = [];
      const open = [];
      this.walk(from, to, tracks, {
        enter: (name) => open[name] = (open[name] || 0) + 1,
        leave: (name, length, beneath) => {
          const r3 = rows[name] = rows[name] || [name, 0, 0, 0, length, 0];
          r3[1]++;
          r3[3] += length - beneath;
          r3[4] = Math.min(r3[4], length);
          r3[5] = Math.max(r3[5], length);
          if (!--open[name])
            r3[2] += length;
        }
      });
      return rows.filter((r3) => !!r3);
    }
    async flame(from, to, tracks) {
      const nodes = [[0, 0, 0, 0, 0]];
      const children = /* @__PURE__ */ new Map();
      let at = 0;
      this.walk(from, to, tracks, {
        enter: (name) => {
          const key = `${at} ${name}`;
          let node = children.get(key);
          if (node === void 0) {
            node = nodes.push([at, name, 0, 0, 0]) - 1;
            children.set(key, node);
          }
          at = node;
        },
        leave: (_name, length, beneath) => {
          nodes[at][2]++;
          nodes[at][3] += length;
          nodes[at][4] += length - beneath;
          at = nodes[at][0];
        }
      });
      return nodes.slice(1);
    }
    async function(name) {
      const calls = [];
      this.callRows.forEach(
        ({ track, row, columns: columns2 }) => columns2.name.forEach((n2, i4) => n2 === name && calls.push([columns2.start[i4], columns2.length[i4], track, row, i4]))
      );
      calls.sort((a3, b) => b[1] - a3[1] || a3[0] - b[0]);
      const nr = calls.length, buckets = [];
      for (const call of calls) {
        const bucket = call[1] < 2 ? 0 : Math.floor(Math.log2(call[1]));
        while (buckets.length <= bucket)
          buckets.push(0);
        buckets[bucket]++;
      }
      const percent = (p3) => nr ? calls[nr - Math.ceil(nr * p3 / 100)][1] : 0;
      return { calls: nr, total: calls.reduce((sum, c3) => sum + c3[1], 0), p50: percent(50), p90: percent(90), p99: percent(99), buckets, longest: calls.slice(0, 10) };
    }
    // The calls of a range as tools/view/span_walk.c tells them.
    walk(from, to, tracks, walker) {
      from = Math.floor(from);
      to = Math.floor(to);
      this.tracks.forEach((rows, i4) => {
        if (this.all.info.tracks[i4].kind !== "calls" || tracks.length && !tracks.includes(i4))
          return;
        const next = rows.map((r3) => overlapping(r3, from));
        const walkRow = (row, since, limit) => {
          const r3 = rows[row];
          let sum = 0;
          while (row < rows.length && next[row] < r3.start.length && r3.start[next[row]] < limit) {
            const nr = next[row]++;
            walkRow(row + 1, Infinity, r3.start[nr]);
            const start = Math.max(r3.start[nr], from);
            const end = Math.min(r3.start[nr] + r3.length[nr], to);
            const length = Math.max(0, end - start);
            walker.enter(r3.name[nr]);
            const beneath = walkRow(row + 1, start, end);
            walker.leave(r3.name[nr], length, beneath);
            if (start >= since)
              sum += length;
          }
          return sum;
        };
        for (let row = rows.length - 1; row > 0; row--) {
          const around = rows[row - 1].start[next[row - 1]];
          walkRow(row, Infinity, around < to ? around : to);
        }
        for (let row = 0; row < rows.length; row++)
          walkRow(row, Infinity, to);
      });
    }
  };
  function overlapping(row, ts) {
    const i4 = lower(row.start, ts);
    return i4 > 0 && row.start[i4 - 1] + row.length[i4 - 1] > ts ? i4 - 1 : i4;
  }
  function query(row, from, to, pixel) {
    const out = [];
    let at = -1;
    for (let i4 = overlapping(row, from); i4 < row.start.length && row.start[i4] < to; i4++) {
      const start = row.start[i4], length = row.length[i4];
      const here = pixel && length < pixel ? Math.floor(Math.max(0, start - from) / pixel) : -1;
      const last = out.length - 7;
      if (here >= 0 && here === at) {
        out[last + 1] = start + length - out[last];
        out[last + 3]++;
        out[last + 4] += length;
        if (length > row.length[out[last + 5]]) {
          out[last + 2] = row.name[i4];
          out[last + 5] = i4;
          out[last + 6] = row.extra ? row.extra[i4] : 0;
        }
      } else {
        out.push(start, length, row.name[i4], 1, length, i4, row.extra ? row.extra[i4] : 0);
      }
      at = here;
    }
    return out;
  }

  // src/server.ts
  var ServerSource = class {
    constructor(token) {
      this.token = token;
    }
    async ask(what, args = {}) {
      const query2 = new URLSearchParams();
      for (const [name, value] of Object.entries(args))
        query2.set(name, String(value));
      let reply;
      try {
        reply = await fetch(`/api/${what}?${query2}`, { headers: { "X-Vestige-Token": this.token }, cache: "no-store" });
      } catch {
        throw new Error("vestige view does not answer: it has ended. Start it again in its terminal.");
      }
      if (reply.status === 403)
        throw new Error("This page is not from the vestige view that runs now: open the address that it printed.");
      if (!reply.ok)
        throw new Error(`vestige view: ${await reply.text()}`);
      return reply.json();
    }
    info() {
      return this.ask("info");
    }
    spans(rows, from, to, pixel) {
      const text = rows.map(([track, row]) => `${track}.${row}`).join(",");
      return this.ask("spans", { from: whole(from), to: whole(to), pixel: whole(pixel), rows: text });
    }
    list(at, nr) {
      return this.ask("list", { at, nr });
    }
    number(ts) {
      return this.ask("number", { from: whole(ts) });
    }
    find(text, at, backward) {
      return this.ask("find", { text, at, backward: backward ? 1 : 0 });
    }
    table(from, to, tracks) {
      return this.ask("table", { from: whole(from), to: whole(to), tracks: tracks.join(",") });
    }
    flame(from, to, tracks) {
      return this.ask("flame", { from: whole(from), to: whole(to), tracks: tracks.join(",") });
    }
    function(name) {
      return this.ask("function", { nr: name });
    }
    sql(question) {
      return this.ask("sql", { text: question });
    }
  };
  function whole(n2) {
    return Math.max(0, Math.floor(n2));
  }

  // src/main.tsx
  var TOKEN = "vestige-token";
  function takeToken() {
    const args = new URLSearchParams(location.hash.slice(1));
    const token = args.get("token");
    if (!token)
      return sessionStorage.getItem(TOKEN) || "";
    sessionStorage.setItem(TOKEN, token);
    args.delete("token");
    history.replaceState(null, "", `${location.pathname}#${args}`);
    return token;
  }
  async function begin() {
    const place = document.getElementById("app");
    const data = document.getElementById("recording");
    try {
      const source = data ? new LocalSource(JSON.parse(data.textContent)) : new ServerSource(takeToken());
      const info = await source.info();
      place.textContent = "";
      G(/* @__PURE__ */ u3(App, { source, info }), place);
    } catch (error) {
      place.textContent = error.message;
    }
  }
  begin();
})();
